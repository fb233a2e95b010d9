"""Methods and metrics are written for one input; the engine pools their questions to models into full batches."""
