"""What the stage shows: `panels` says what there is at each zoom level, by hook points, and what a text on it is.

`generating` makes such texts, and `first_view` reads and writes the one that is shown before torch is loaded.
"""
