"""Word aligners: which words of a text and of its translation belong together."""
