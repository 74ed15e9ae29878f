"""The command line, `python -m transformer_core`; each command imports torch only when it runs."""
