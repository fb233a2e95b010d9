"""Word aligners between texts and their translations."""
