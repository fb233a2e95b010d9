"""Explanations by pairs of spans: how much two phrases matter together."""
