"""One text through a model: what it reads, what its heads attend to, what it says."""
