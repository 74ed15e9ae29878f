"""What a learner writes, read and run without Python's own `eval`, and what is wrong with it; no Streamlit."""
