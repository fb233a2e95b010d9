"""Recursive ROAR: measure an importance measure by training new models on what it leaves."""
