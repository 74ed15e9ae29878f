"""The learning rate at each step."""

import math

from transformer_core.training.config import TrainingConfig


def warmup_learning_rate(step: int, *, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Return the paper's learning rate: it rises linearly for `warmup_steps` steps, then falls with the step's root.

    lrate = factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)

    Args:
        step: the step that the rate is for, counted from 1.
        d_model: width of the residual stream.
        warmup_steps: the step at which the rate is highest.
        factor: times the paper's rate; 1 is the paper.

    Returns:
        The learning rate; its highest value, at `warmup_steps`, is factor * (d_model * warmup_steps)^-0.5.

    Source: Vaswani et al. 2017, sec. 5.3, eq. (3).
    """
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def cosine_learning_rate(
    step: int, *, d_model: int, warmup_steps: int, steps: int, factor: float = 1.0, floor: float = 0.0
) -> float:
    """Return a learning rate that rises as the paper's does, then falls along half a cosine until the last step.

    A short training ends better so: the paper's rate is still half its highest after four times the warm-up.

    Args:
        step: the step that the rate is for, counted from 1.
        d_model: width of the residual stream.
        warmup_steps: the step at which the rate is highest.
        steps: the last step.
        factor: times the paper's highest rate, (d_model * warmup_steps)^-0.5.
        floor: the share of the highest rate that the cosine falls to.

    Source: Loshchilov and Hutter 2017, eq. (5), without restarts.
    Differs: a linear warm-up before it, and the last step's rate is that of one step before the floor.
    """
    highest = factor * (d_model * warmup_steps) ** -0.5
    if step <= warmup_steps:
        return highest * step / warmup_steps
    done = (step - warmup_steps) / (steps + 1 - warmup_steps)  # in (0, 1)
    return highest * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done)))


def learning_rate(step: int, config: TrainingConfig, *, d_model: int) -> float:
    """Return the learning rate of a step, by the schedule that the configuration names and the changes on the way.

    The "constant" one rises as the paper's does, then stays: factor * (d_model * warmup_steps)^-0.5 * min(1, step /
    warmup_steps).
    """
    warmup_steps, factor = config.warmup_steps, config.learning_rate_factor
    for first_step, change in config.rate_changes:
        if first_step <= step:
            factor = config.learning_rate_factor * change
    if config.schedule == "constant":
        return factor * (d_model * warmup_steps) ** -0.5 * min(1.0, step / warmup_steps)
    if config.schedule == "paper":
        return warmup_learning_rate(step, d_model=d_model, warmup_steps=warmup_steps, factor=factor)
    floor = config.learning_rate_floor
    return cosine_learning_rate(
        step, d_model=d_model, warmup_steps=warmup_steps, steps=config.steps, factor=factor, floor=floor
    )
