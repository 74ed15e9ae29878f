"""Decoding: from logits to a text, and the cache that makes it quick."""
