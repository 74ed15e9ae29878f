"""Comparison of an imported model with the implementation that its weights come from."""
