"""The content of the stage: `panels` defines the hook points at each zoom level, and the text that is shown.

`generating` makes such texts, and `first_view` reads and writes the one that is shown before torch is loaded.
"""
