"""Runs that can be queried, and what people read of them: estimates, tables, figures, and their rendering."""
