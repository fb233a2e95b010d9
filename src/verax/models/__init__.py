"""Models and what they can be asked."""
