"""Trackers of experiments that a finished run can be logged to: one function each, found by its registered name."""
