"""A run: its spec, its plan, and carrying it out."""
