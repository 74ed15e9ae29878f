"""Predict before the edit: what a learner expects of an edit, what happened, and how well calibrated the learner is."""
