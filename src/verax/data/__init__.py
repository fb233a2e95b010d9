"""Data loading: built-in corpora, user files, Hugging Face datasets, imported explanations; word splitting."""
