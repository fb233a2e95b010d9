"""Explanations in the formats of other projects, and as a dataset on the Hugging Face hub."""
