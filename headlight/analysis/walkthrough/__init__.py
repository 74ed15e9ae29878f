"""Attention step by step: one head of a model on one text, every matrix on the way, and each number proved.

`outline` and `formulas` need no torch: a page can draw before it is loaded.
"""
