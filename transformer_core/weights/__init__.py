"""Weights: models as folders on a disk."""
