"""What a training has recorded: its curves, its film, its experiments."""
