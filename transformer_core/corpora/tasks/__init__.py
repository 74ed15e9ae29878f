"""Small tasks that are drawn from a seed: copy, sort, addition, dates, brackets, induction."""
