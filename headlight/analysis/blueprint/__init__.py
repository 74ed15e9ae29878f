"""A model as a plan: its boxes and arrows, and what each box holds, gives out and costs."""
