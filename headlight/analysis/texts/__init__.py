"""Texts side by side: which tokens and words belong together."""
