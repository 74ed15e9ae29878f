"""Decoding: from logits to a text, step by step, and the cache that makes it quick."""
