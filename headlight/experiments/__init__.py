"""Several small trainings side by side that differ in one thing."""
