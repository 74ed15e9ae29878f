"""Training: the paper's objective, optimizer and schedule, a loop that yields its steps, and the folder of a run.

`objective`, `schedule` and `optimizer` are the paper's section 5, `gradients` what a batch says to the parameters;
`loop` joins them; `evaluate` measures; `run.directory` is what is on the disk; `run.worker` is the work of a training
process, from request to trained model.
"""
