"""Masks drawn by hand: the usual ones and the well-known mistakes, the model run under them, and what leaks."""
