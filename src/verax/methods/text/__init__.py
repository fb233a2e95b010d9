"""Models that explain themselves in free text: the ways in which they answer and say why."""
