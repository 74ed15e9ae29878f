"""Lessons: small text files that explain a model's real numbers, ask questions, and check their own claims.

`reader.read_lesson` reads one, `judging` asks the model's numbers whether it is correct, and `catalogue` has the live
figures that it names.
"""
