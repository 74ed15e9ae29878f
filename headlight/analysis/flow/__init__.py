"""Attention across layers, changes of patterns, and the sources of attention scores."""
