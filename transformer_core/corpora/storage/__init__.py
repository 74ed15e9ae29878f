"""Texts and pairs on disk: read, encoded, cached, larger than memory if necessary.

Why no library is used: a cache of memory-mapped Arrow files (pyarrow) was measured with the same reader of the text:

* 200 MB of lines: cache 230 MB (here 43 MB), 325 MB of memory while reading (here 87 MB; the limit is 300 MB).
* 800,000 pairs: cache 88 MB (here 101 MB), 191 MB of memory (here 121 MB), opened as fast, iterated faster.
* A batch of 32 windows of 257 tokens out of 50 million: 7.6 ms by `take` (here 0.04 ms).
* pyarrow takes 166 MB on disk, and 0.15 s and 27 MB at import; only the app needs it.

The library `datasets` takes 3.9 ms for such a batch, 11 % of a training step of a small decoder, and 1.2 to 1.5 times
as long to encode a text (`tests/benchmarks/kept_tokens.py`, two cores).
"""
