"""Complexity of explanations."""
