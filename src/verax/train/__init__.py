"""Training and fine-tuning of models."""
