"""The learning rate at each step."""

import math

from transformer_core.training.config import TrainingConfig


def warmup_learning_rate(step: int, *, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Return the paper's learning rate: a linear warm-up, then a decay with the inverse root of the step.

    lrate = factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)

    Args:
        step: counted from 1.
        d_model: width of the residual stream.
        warmup_steps: the step with the highest rate, factor * (d_model * warmup_steps)^-0.5.
        factor: multiplies the paper's rate.

    Source: Vaswani et al. 2017, sec. 5.3, eq. (3).
    """
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def learning_rate(step: int, config: TrainingConfig, *, d_model: int) -> float:
    """Return the learning rate of a step, counted from 1, by the schedule and the rate changes of a configuration.

    All schedules rise linearly to the paper's highest rate, peak = factor * (d_model * warmup_steps)^-0.5. "constant"
    stays there. "cosine" falls along half a cosine to the share `learning_rate_floor` of the peak, which suits short
    trainings: the paper's rate is still half its peak after four times the warm-up.

    Source: Loshchilov and Hutter 2017, eq. (5), without restarts, for the cosine.
    Differs: with a linear warm-up, and the last step is one step before the floor.
    """
    warmup_steps, factor, floor = config.warmup_steps, config.learning_rate_factor, config.learning_rate_floor
    for first_step, change in config.rate_changes:
        if first_step <= step:
            factor = config.learning_rate_factor * change
    if config.schedule == "paper":
        return warmup_learning_rate(step, d_model=d_model, warmup_steps=warmup_steps, factor=factor)
    peak = factor * (d_model * warmup_steps) ** -0.5
    if config.schedule == "constant":
        return peak * min(1.0, step / warmup_steps)
    if step <= warmup_steps:
        return peak * step / warmup_steps
    done = (step - warmup_steps) / (config.steps + 1 - warmup_steps)  # in (0, 1)
    return peak * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done)))
