"""Viewing: attention patterns of models that Headlight's core does not compute."""
