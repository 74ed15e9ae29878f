"""Texts and pairs on disk: read, encoded, kept, larger than memory where they must be."""
