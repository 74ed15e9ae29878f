"""The command line, `python -m transformer_core`: train, decode, import. Who needs torch imports it when it runs."""
