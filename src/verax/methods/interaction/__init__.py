"""Explanations by pairs of words."""
