"""The gradients of a batch: part by part, in one process or several, as they are or compiled."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from transformer_core.corpora.batching import IGNORED, Batch
from transformer_core.errors import TextError
from transformer_core.language import say
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.objective import TrainingLoss
from transformer_core.training.processes import Processes

_ON_A_CPU: dict[str, str | int | bool | Callable[..., Any]] = {
    "cpp_wrapper": True,  # the calls between the kernels are compiled too
    "cpp.enable_floating_point_contract_flag": "fast",  # a product and a sum are rounded once, as in other kernels
}
_NO_ZERO = 1e-6  # keeps a division whole, as torch's own clipping does

_Inputs = tuple[Tensor, ...]
_AddPart = Callable[[_Inputs, Tensor, float, bool], Tensor]


class Gradients:
    """The gradients of the loss of whole batches.

    How a batch is divided, into parts one after another or among processes, changes them by rounding only (and by
    dropout, which draws for each part anew).

    Args:
        model: takes the gradients.
        config: smoothing, precision, parts, and whether to compile.
        processes: those that train together.
    """

    def __init__(self, model: Transformer, config: TrainingConfig, processes: Processes) -> None:
        self.parameters = [*model.parameters()]
        self.device = self.parameters[0].device
        self.config = config
        self.processes = processes
        objective = TrainingLoss(model, smoothing=config.label_smoothing)
        self.on_cpu = self.device.type == "cpu"
        if config.compile and self.on_cpu and processes.size == 1 and config.precision == "fp32":
            self._add_part = self._compiled_whole(objective)
        else:
            self._add_part = self._by_autograd(objective)

    def compute(self, batch: Batch) -> float:
        """Set the gradient of every parameter; return the mean loss over all targets of the batch that count, in nats.

        Raises:
            TextError: no target counts.
            OtherProcessError: another process was killed.
        """
        if not (batch.targets.numpy() != IGNORED).any():
            raise TextError(say("no target counts, so there is nothing to learn; leave such a batch out"))
        for parameter in self.parameters:
            parameter.grad = None
        total = torch.zeros((), device=self.device)
        parts = [*self.processes.parts(batch, self.config.accumulate)]
        with self.processes.connected():
            for number, (part, weight) in enumerate(parts, start=1):
                part = part.to(self.device)
                # where nothing is to be learnt, anything is, 0 times: the other processes wait for gradients
                targets = part.targets if weight else torch.zeros_like(part.targets)
                total += self._add_part(part.inputs, targets, weight, number == len(parts))
        return self.processes.total(total).item()

    def _by_autograd(self, objective: nn.Module) -> _AddPart:
        """Return what adds the gradients of one part, times its weight, and returns its mean loss times its weight."""
        if self.config.compile:
            objective = cast(nn.Module, torch.compile(objective, options=_ON_A_CPU if self.on_cpu else None))
        wrapped = self.processes.wrap(objective)

        def add_part(inputs: _Inputs, targets: Tensor, weight: float, is_last: bool) -> Tensor:
            with self.processes.sending(wrapped, now=is_last):
                with torch.autocast(targets.device.type, torch.bfloat16, enabled=self.config.precision == "bf16"):
                    loss: Tensor = wrapped(inputs, targets) * weight
                loss.backward()
            return loss.detach()

        return add_part

    def _compiled_whole(self, objective: nn.Module) -> _AddPart:
        """Return the same, with forward and backward in one program, of which Python calls nothing but the beginning.

        Neither other processes nor a switch of precision may stand between the two. It pays on a CPU, where a step of a
        small model takes milliseconds, one or two of them in the calls between the kernels.
        """

        def loss_and_gradients(inputs: _Inputs, targets: Tensor, weight: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
            loss = objective(inputs, targets) * weight
            return loss.detach(), torch.autograd.grad(loss, self.parameters)

        compiled = torch.compile(loss_and_gradients, fullgraph=True, options=_ON_A_CPU)

        def add_part(inputs: _Inputs, targets: Tensor, weight: float, is_last: bool) -> Tensor:
            with torch._dynamo.config.patch(trace_autograd_ops=True):
                loss, gradients = compiled(inputs, targets, torch.tensor(weight))
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
            return loss

        return add_part


def clip_gradients(parameters: Sequence[nn.Parameter], longest: float | None) -> float:
    """Shorten the gradient of all parameters together to a norm, if it is longer; return the norm that it had.

    As `torch.nn.utils.clip_grad_norm_`, which multiplies whether it shortens or not.

    Source: Pascanu et al. 2013, algorithm 1.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))).item()
    if longest is not None and norm > longest:
        torch._foreach_mul_(gradients, longest / (norm + _NO_ZERO))
    return norm
