"""Encodings of positions: their tables and products, how they turn, and what they do to a model's scores."""
