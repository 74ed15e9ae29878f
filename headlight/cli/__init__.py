"""The command line: the commands of `transformer_core`, and those of the laboratory."""
