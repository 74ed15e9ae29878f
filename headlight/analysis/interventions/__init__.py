"""Interventions: records of what is changed in a model, the context that applies them, and what they cause.

`records` and `stacks` need no torch: a page can read a stack from its address without it.
"""
