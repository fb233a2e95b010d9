"""Metrics that compare explanations of the same input in different languages."""
