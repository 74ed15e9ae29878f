"""The records of a training: curves, film, and experiments."""
