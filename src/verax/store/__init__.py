"""Storage of runs: a folder of checked rows; a computed row is never lost and never computed again."""
