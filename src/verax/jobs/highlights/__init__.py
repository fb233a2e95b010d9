"""Datasets with highlights in several languages: method and threshold chosen on human highlights, then projected."""
