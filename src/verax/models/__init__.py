"""What a model can be asked."""
