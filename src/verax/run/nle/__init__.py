"""Runs over models that explain themselves in free text: what they say, and the tests of it."""
