"""Recipes of the shipped models: small BERTs and BARTs, trained on the built-in corpus alone."""
