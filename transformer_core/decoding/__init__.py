"""Decoding: from logits to a text, step by step, and the KV cache that makes it fast."""
