"""Commands that produce an artifact rather than a run: trained models, ROAR, datasets with highlights, similarity."""
