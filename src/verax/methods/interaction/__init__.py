"""Explanations by pairs of words: how much two words matter together."""
