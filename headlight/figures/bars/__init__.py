"""Bars and rows of numbers."""
