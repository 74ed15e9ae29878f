"""Lessons: small text files that speak of a model's real numbers, ask, and check what they claim.

`folder.read_lessons` reads them, `judging` asks the model's numbers whether they are correct, and `catalogue` has the
live figures that they name. What runs a model is loaded, and torch with it, when it is first used.
"""
