"""What is computed once is never lost and never computed again: a run is a folder of checked rows."""
