"""Reports of runs: one offline HTML page, the terminal, and notebooks."""
