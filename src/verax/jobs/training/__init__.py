"""Fine-tuning of classifiers, of self-explaining models and of editors: from a spec to checkpoints."""
