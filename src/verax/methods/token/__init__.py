"""Explanations by scores of words."""
