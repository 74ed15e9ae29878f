"""The gradients of a batch: in several parts, in one process or several, compiled or not."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.errors import TextError
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.guidance import GuidedTrainingLoss
from transformer_core.training.objective import TrainingLoss
from transformer_core.training.processes import Microbatch, Processes

_ON_A_CPU: dict[str, str | int | bool | Callable[..., Any]] = {
    "cpp_wrapper": True,  # the calls between the kernels are compiled too
    "cpp.enable_floating_point_contract_flag": "fast",  # a product and a sum are rounded once, as in other kernels
}


class BatchLoss(NamedTuple):
    """The losses of a batch before its update."""

    loss: float  # mean over all targets that count, nats
    guidance: float | None = None  # mean over all pronouns, nats; None without a guided head or a pronoun


class Gradients:
    """Computes gradients of batches.

    Dividing a batch into parts, or among processes, changes them only by rounding (and by dropout, which draws again
    for each part).

    Args:
        model: gets the gradients.
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
        if config.compile:
            on_cpu = self.device.type == "cpu"
            objective = cast(nn.Module, torch.compile(objective, options=_ON_A_CPU if on_cpu else None))
        self.objective = processes.wrap(objective)

    def compute(self, batch: Batch) -> BatchLoss:
        """Set the gradient of every parameter, and return the losses of the batch.

        With a guided head it is the gradient of the loss plus `guidance_weight` times the guidance loss.

        Raises:
            TextError: no target counts.
            OtherProcessError: another process was killed.
        """
        if not (batch.targets.numpy() != IGNORED).any():
            raise TextError("this batch has no targets to learn from; skip it")
        for parameter in self.parameters:
            parameter.grad = None
        is_guided = self.config.guided is not None
        total = torch.zeros(2 if is_guided else (), device=self.device)
        parts = [*self.processes.parts(batch, self.config.accumulate)]
        with self.processes.connected():
            for number, part in enumerate(parts, start=1):
                rows = part.batch.to(self.device)
                if not part.weight:  # a gradient of weight 0: the other processes wait for one
                    rows = rows._replace(targets=torch.zeros_like(rows.targets))
                total += self._add_part(part._replace(batch=rows), is_last=number == len(parts))
        losses = self.processes.total(total)
        if not is_guided:
            return BatchLoss(losses.item())
        return BatchLoss(losses[0].item(), losses[1].item() if batch.n_pronouns else None)

    def _add_part(self, part: Microbatch, *, is_last: bool) -> Tensor:
        """Add the gradients of one part, and return its weighted mean losses."""
        rows = part.batch
        with self.processes.sending(self.objective, now=is_last):
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bf16"):
                if self.config.guided is None:
                    losses: Tensor = self.objective(rows.inputs, rows.targets) * part.weight
                    loss = losses
                else:
                    weights = torch.tensor([part.weight, part.guidance_weight], device=self.device)
                    losses = self.objective(rows.inputs, rows.targets, rows.antecedents) * weights
                    loss = losses[0] + self.config.guidance_weight * losses[1]
            loss.backward()
        return losses.detach()


def clip_gradients(parameters: Sequence[nn.Parameter], longest: float | None) -> float:
    """Clip the gradient to a norm over all parameters, and return its norm before.

    Source: Pascanu et al. 2013, algorithm 1.
    """
    norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
    if longest is not None:
        nn.utils.clip_grads_with_norm_(parameters, longest, norm)
    return norm.item()
