"""Public data sets by name: where their rows are, which splits they are cut into, which part may be masked."""
