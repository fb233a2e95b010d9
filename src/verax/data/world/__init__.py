"""The built-in corpus: a small knowledge base, and grammars that put its facts into words."""
