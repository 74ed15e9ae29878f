"""A training as a process of its own: its folder, its commands, its worker."""
