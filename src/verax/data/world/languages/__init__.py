"""The world told in several languages: one plan of clauses, and a lexicon and a grammar for each language."""
