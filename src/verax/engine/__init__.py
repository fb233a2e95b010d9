"""Written for one, run for many: questions to the model, pooled over instances and answered in full batches."""
