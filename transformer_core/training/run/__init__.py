"""A training as a separate process: its folder, its commands, its worker."""
