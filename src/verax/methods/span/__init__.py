"""Explanations by pairs of spans."""
