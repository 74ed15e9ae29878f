"""Texts and pairs on disk: read, encoded, kept, larger than memory where they must be.

Differs: the library `datasets` does much of this, with a cache by fingerprints and Arrow files that are mapped into
memory. A batch of 32 windows of a running text takes 3.9 ms with it and 0.1 ms here, a third of a training step of the
preset `tiny_decoder`; encoding such a text takes 1.5 times as long, and lines 1.2 times (`tests/benchmarks/
kept_tokens.py`, two cores).
"""
