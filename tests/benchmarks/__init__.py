"""Measures, printed as tables with ratios: `make bench`. Nothing here asserts a time."""
