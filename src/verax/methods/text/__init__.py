"""Explanations in free text."""
