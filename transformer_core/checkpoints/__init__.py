"""Weights: models in our folders, in those of Hugging Face, and on its Hub."""
