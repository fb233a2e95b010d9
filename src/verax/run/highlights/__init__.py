"""Highlights in other languages: chosen on human ones, taken from one language, projected to its translations."""
