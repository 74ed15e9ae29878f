"""Instruments: what a person holds to a model to see inside; the model knows nothing of them."""
