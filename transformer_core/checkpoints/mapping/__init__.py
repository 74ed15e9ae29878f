"""Mappings: how tensors of an unknown layout fill our parameters, in a small text file."""
