"""The gradients of a batch: part by part, in one process or several, as they are or compiled."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from transformer_core.corpora.batching import IGNORED, Batch
from transformer_core.errors import TextError
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.guidance import GuidedTrainingLoss
from transformer_core.training.objective import TrainingLoss
from transformer_core.training.processes import Part, Processes

_ON_A_CPU: dict[str, str | int | bool | Callable[..., Any]] = {
    "cpp_wrapper": True,  # the calls between the kernels are compiled too
    "cpp.enable_floating_point_contract_flag": "fast",  # a product and a sum are rounded once, as in other kernels
}

_Inputs = tuple[Tensor, ...]
_AddPart = Callable[[Part, bool], Tensor]


class BatchLoss(NamedTuple):
    """What a batch costs, before the update that it makes."""

    loss: float  # mean over all targets that count, nats
    guidance: float | None = None  # mean over all pronouns, nats; None where no head is guided, or there is no pronoun


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
        smoothing = config.label_smoothing
        objective: nn.Module = TrainingLoss(model, smoothing=smoothing)
        if config.guided is not None:
            layer, head = config.guided
            objective = GuidedTrainingLoss(model, smoothing=smoothing, layer=layer, head=head)
        self.on_cpu = self.device.type == "cpu"
        if config.compile and self.on_cpu and processes.size == 1 and config.precision == "fp32":
            self._add_part = self._compiled_whole(objective)
        else:
            self._add_part = self._by_autograd(objective)

    def compute(self, batch: Batch) -> BatchLoss:
        """Set the gradient of every parameter; return the losses of the batch.

        Where a head is guided, the gradient is that of the loss plus `guidance_weight` times the guidance loss.

        Raises:
            TextError: no target counts.
            OtherProcessError: another process was killed.
        """
        if not (batch.targets.numpy() != IGNORED).any():
            raise TextError("no target counts, so there is nothing to learn; leave such a batch out")
        for parameter in self.parameters:
            parameter.grad = None
        is_guided = self.config.guided is not None
        total = torch.zeros(2 if is_guided else (), device=self.device)
        parts = [*self.processes.parts(batch, self.config.accumulate)]
        with self.processes.connected():
            for number, part in enumerate(parts, start=1):
                rows = part.batch.to(self.device)
                if not part.weight:  # anything is learnt, 0 times: the other processes wait for gradients
                    rows = rows._replace(targets=torch.zeros_like(rows.targets))
                total += self._add_part(part._replace(batch=rows), number == len(parts))
        losses = self.processes.total(total)
        if not is_guided:
            return BatchLoss(losses.item())
        return BatchLoss(losses[0].item(), losses[1].item() if batch.n_pronouns else None)

    def _by_autograd(self, objective: nn.Module) -> _AddPart:
        """Return what adds the gradients of one part, and returns its mean losses, each times its weight."""
        if self.config.compile:
            objective = cast(nn.Module, torch.compile(objective, options=_ON_A_CPU if self.on_cpu else None))
        wrapped = self.processes.wrap(objective)

        def add_part(part: Part, is_last: bool) -> Tensor:
            rows = part.batch
            with self.processes.sending(wrapped, now=is_last):
                with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bf16"):
                    if self.config.guided is None:
                        losses: Tensor = wrapped(rows.inputs, rows.targets) * part.weight
                        loss = losses
                    else:
                        weights = torch.tensor([part.weight, part.guidance_weight], device=self.device)
                        losses = wrapped(rows.inputs, rows.targets, rows.antecedents) * weights
                        loss = losses[0] + self.config.guidance_weight * losses[1]
                loss.backward()
            return losses.detach()

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

        def add_part(part: Part, is_last: bool) -> Tensor:
            with torch._dynamo.config.patch(trace_autograd_ops=True):
                loss, gradients = compiled(part.batch.inputs, part.batch.targets, torch.tensor(part.weight))
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
            return loss

        return add_part


def clip_gradients(parameters: Sequence[nn.Parameter], longest: float | None) -> float:
    """Shorten the gradient of all parameters together to a norm, if it is longer; return the norm that it had.

    Source: Pascanu et al. 2013, algorithm 1.
    """
    norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
    if longest is not None:
        nn.utils.clip_grads_with_norm_(parameters, longest, norm)
    return norm.item()
