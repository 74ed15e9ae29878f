"""Matrices as colors."""
