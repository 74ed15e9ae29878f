"""The paper's Adam and AdamW, and their state as named tensors."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from transformer_core.errors import RunError
from transformer_core.training.config import TrainingConfig

_STATE = (
    "step",
    "exp_avg",
    "exp_avg_sq",
)  # what Adam remembers of a parameter: steps, mean gradient, mean squared gradient


def optimizer_for(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Return the optimizer that the configuration names; the loop sets the learning rate before each step."""
    return paper_adam(model, config) if config.optimizer == "adam" else adamw(model, config)


def paper_adam(model: nn.Module, config: TrainingConfig) -> torch.optim.Adam:
    """Return Adam with the paper's decays and epsilon.

    Torch's fused implementation: on two cores a step over 1.4 million parameters takes 3 ms with it and 8 without.

    Source: Vaswani et al. 2017, sec. 5.3; Kingma and Ba 2015, algorithm 1.
    """
    betas = (config.adam_beta1, config.adam_beta2)
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=betas, eps=config.adam_eps, fused=True)


def adamw(model: nn.Module, config: TrainingConfig) -> torch.optim.AdamW:
    """Return Adam whose weight decay is apart from the gradient; it falls on matrices, not on biases and norms.

    Source: Loshchilov and Hutter 2019, algorithm 2. That vectors are left out is the custom since Radford et al. 2019.
    """
    matrices = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    betas = (config.adam_beta1, config.adam_beta2)
    return torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=config.adam_eps, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    """Set the learning rate of all parameters."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return what the optimizer remembers as tensors, named `{parameter}.{exp_avg, exp_avg_sq, step}`."""
    return {
        f"{name}.{key}": optimizer.state[parameter][key]
        for name, parameter in model.named_parameters()
        if parameter in optimizer.state
        for key in _STATE
    }


def load_optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give the optimizer back what `optimizer_tensors` returned.

    Raises:
        RunError: a tensor that no parameter of the model has, or one of another shape.
    """
    parameters = dict(model.named_parameters())
    for full_name, tensor in tensors.items():
        name, _, key = full_name.rpartition(".")
        parameter = parameters.get(name)
        if parameter is None or key not in _STATE or (key != "step" and tensor.shape != parameter.shape):
            raise RunError(
                f"the saved optimizer does not fit the model at {full_name!r}; this run cannot go on, start a new one"
            )
        optimizer.state[parameter][key] = tensor.to(parameter.device, copy=True)
