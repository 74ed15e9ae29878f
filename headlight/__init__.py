"""The laboratory: questions asked of a model, and figures of the answers."""
