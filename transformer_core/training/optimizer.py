"""The paper's Adam, and AdamW, with their state as named tensors; and the learning rate at each step."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from transformer_core.errors import RunError
from transformer_core.training.config import TrainingConfig


class Adam:
    """Adam or AdamW, whose weight decay applies to matrices, not to biases and norms.

    With g the gradient at step t: m = beta1 m + (1 - beta1) g and v = beta2 v + (1 - beta2) g^2; then the parameter
    becomes (1 - rate decay) w - rate m' / (sqrt(v') + eps), with m' = m / (1 - beta1^t) and v' = v / (1 - beta2^t).

    This uses the function of `torch.optim.AdamW`: the class would import torch's compiler, two seconds at the beginning
    of each training; the time per step is the same (within 2 %, in two configurations).

    Args:
        model: the model, whose parameters are updated in place.
        config: decays, epsilon, and weight decay.

    Source: Kingma and Ba 2015, algorithm 1; Vaswani et al. 2017, sec. 5.3, for the decays; Loshchilov and Hutter 2019,
    algorithm 2. No decay of vectors: common since Radford et al. 2019.
    """

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        self.config = config
        self.parameters = dict(model.named_parameters())
        self.state = {  # by parameter, under torch's names: m, the mean of gradients; v, of their squares; and t
            name: {
                "exp_avg": torch.zeros_like(p),
                "exp_avg_sq": torch.zeros_like(p),
                "step": torch.zeros((), device=p.device),
            }
            for name, p in self.parameters.items()
        }
        self.decaying = {name for name, p in self.parameters.items() if config.weight_decay and p.dim() >= 2}

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Update all parameters that have a gradient."""
        learning = [name for name, parameter in self.parameters.items() if parameter.grad is not None]
        self._step([name for name in learning if name in self.decaying], learning_rate, self.config.weight_decay)
        self._step([name for name in learning if name not in self.decaying], learning_rate, 0.0)

    def _step(self, names: list[str], learning_rate: float, weight_decay: float) -> None:
        if not names:
            return
        parameters: list[Tensor] = [self.parameters[name] for name in names]
        adamw(
            parameters,
            [parameter.grad for parameter in parameters if parameter.grad is not None],
            [self.state[name]["exp_avg"] for name in names],
            [self.state[name]["exp_avg_sq"] for name in names],
            [],  # the largest mean squares, which only AMSGrad uses
            [self.state[name]["step"] for name in names],
            fused=True,
            lr=learning_rate,
            beta1=self.config.adam_beta1,
            beta2=self.config.adam_beta2,
            weight_decay=weight_decay,
            eps=self.config.adam_eps,
            amsgrad=False,
            maximize=False,
        )

    def tensors(self) -> dict[str, Tensor]:
        """Return the state, `{parameter}.{exp_avg, exp_avg_sq, step}`; empty before the first step."""
        if not any(state["step"] for state in self.state.values()):
            return {}
        return {f"{name}.{key}": tensor for name, state in self.state.items() for key, tensor in state.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the state from `tensors`.

        Raises:
            RunError: it does not fit the model's parameters.
        """
        for full_name, tensor in tensors.items():
            name, _, key = full_name.rpartition(".")
            kept = self.state.get(name, {}).get(key)
            if kept is None or tensor.shape != kept.shape:
                raise RunError(
                    "the saved optimizer state does not match the model at {name!r}, so this run cannot be "
                    "resumed; start a new one",
                    name=full_name,
                )
            kept.copy_(tensor)


def warmup_learning_rate(step: int, *, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Return the paper's learning rate: a linear warm-up, then inverse square root decay.

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
