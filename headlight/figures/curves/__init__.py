"""Lines over an axis."""
