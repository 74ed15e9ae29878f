"""The command line: `python -m transformer_core train` and `decode`. Torch is imported by the command that needs it."""
