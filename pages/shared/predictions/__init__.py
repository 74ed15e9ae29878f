"""Predict before the edit: a learner's predictions of edits, their outcomes, and the learner's calibration."""
