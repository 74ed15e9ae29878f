"""Parses, runs and judges a learner's lines without Python's own `eval`; independent of Streamlit."""
