"""Metrics of explanations, one file each."""
