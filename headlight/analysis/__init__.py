"""Questions asked of captured activations; the answers are numpy arrays and plain words."""
