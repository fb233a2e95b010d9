"""Surface realisation in several languages: one text plan, and a lexicon and a grammar for each language."""
