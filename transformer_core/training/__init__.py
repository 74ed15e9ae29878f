"""Training: the paper's objective, optimizer and schedule, a loop that yields its steps, and the folder of a run.

`objective` and `optimizer` are the paper's section 5; `loop` combines them; `evaluate` measures; `run` trains in a
separate process, with a folder on disk.
"""
