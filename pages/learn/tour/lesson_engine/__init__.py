"""Lessons: small text files that speak of a model's real numbers, ask, and check what they claim.

`reader.read_lesson` reads one, `judging` asks the model's numbers whether it is correct, and `catalogue` has the live
figures that it names.
"""
