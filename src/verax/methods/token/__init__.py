"""Methods that give every word a score."""
