"""Texts and pairs on disk: read, encoded, kept, larger than memory where they must be.

The library `datasets` does much of this, with a cache of memory-mapped Arrow files. It takes 3.9 ms for a batch of 32
windows of a running text, 11 % of a training step of a small decoder; here the batch takes 0.1 ms. Encoding a running
text takes it 1.5 times as long, and encoding lines 1.2 times (`tests/benchmarks/kept_tokens.py`, two cores).
"""
