"""The stage: a text on its way to a prediction, from an overview of the whole model down to one attention.

`panels` says what there is to see at each zoom level, by hook points; `stage_text` is the text that is being generated,
and `generating` makes it;
`first_view` keeps the overview of a model's first example beside its checkpoint.
"""
