"""A knowledge test of twelve questions, before and after the Tour: made from a seed, answered by the real code."""
