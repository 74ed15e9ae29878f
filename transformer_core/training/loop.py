"""The training loop: batches in, gradients and an update, one record per step out."""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.errors import Message, RunError, TextError
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.guidance import GuidedTrainingLoss
from transformer_core.training.objective import TrainingLoss
from transformer_core.training.optimizer import Adam, learning_rate
from transformer_core.training.processes import ALONE, Microbatch, Processes

_ON_A_CPU: dict[str, str | int | bool | Callable[..., Any]] = {
    "cpp_wrapper": True,  # the calls between the kernels are compiled too
    "cpp.enable_floating_point_contract_flag": "fast",  # a product and a sum are rounded once, as in other kernels
}


class Gradients:
    """Computes gradients of batches.

    Dividing a batch into parts, or among processes, changes them only by rounding (and by dropout, which draws again
    for each part).

    Args:
        model: the model, whose parameters get the gradients.
        config: smoothing, precision, parts, and whether to compile.
        processes: the processes that train together.
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

    def compute(self, batch: Batch) -> tuple[float, float | None]:
        """Set the gradient of every parameter, and return the losses of the batch before its update.

        With a guided head, this is the gradient of the loss plus `guidance_weight` times the guidance loss.

        Returns:
            The mean loss over all targets that count, and the mean guidance loss over all pronouns, both in nats. The
            latter is None without a guided head or a pronoun.

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
                if not part.weight:  # a part of weight 0: the other processes wait for its gradient
                    rows = rows._replace(targets=torch.zeros_like(rows.targets))
                total += self._add_part(part._replace(batch=rows), is_last=number == len(parts))
        losses = self.processes.total(total)
        if not is_guided:
            return losses.item(), None
        return losses[0].item(), losses[1].item() if batch.n_pronouns else None

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
    """Clip the gradient to a maximum norm over all parameters, and return its norm before clipping.

    Source: Pascanu et al. 2013, algorithm 1.
    """
    norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
    if longest is not None:
        nn.utils.clip_grads_with_norm_(parameters, longest, norm)
    return norm.item()


_EXPLODED = 3.0  # times the loss of uniform guessing, or times the first loss if that is higher
_EXPLODED_STEPS = 5  # consecutive steps; a single bad batch is not an explosion


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """The metrics of one step."""

    step: int  # counted from 1
    loss: float  # smoothed cross-entropy before the step's update, nats per target that counts
    learning_rate: float  # of this step's update
    gradient_norm: float  # L2 norm over all parameters, before clipping
    tokens_per_second: float  # input tokens per second, without padding
    guidance: float | None = None  # loss of the guided head, nats per pronoun; None without one, or without pronouns


def train(
    model: Transformer,
    batches: Iterator[Batch],
    config: TrainingConfig,
    *,
    optimizer: Adam | None = None,
    steps_done: int = 0,
    processes: Processes = ALONE,
) -> Generator[StepRecord]:
    """Train the model, yielding after each step; between two steps the caller may save, evaluate or stop.

    The random numbers of a step (dropout) depend only on the seed and the step. So equal calls give equal losses, and a
    call that resumes from saved weights, optimizer and position in the data gives the losses of an uninterrupted one.

    Args:
        model: trained in place.
        batches: one per step, the same in every process.
        config: the configuration.
        optimizer: the optimizer to resume with; a new one by default.
        steps_done: steps done before resuming.
        processes: the processes that train together.

    Yields:
        One record per step, from `steps_done` + 1 to `config.steps`; the same in every process, except for the time.

    Raises:
        RunError: the loss or the gradient is not finite (the weights are those before that step), or the loss has
            grown far beyond that of guessing.
    """
    if optimizer is None:
        optimizer = Adam(model, config)
    device = next(model.parameters()).device
    gradients = Gradients(model, config, processes)
    watch = _ExplosionWatch(model.config.vocab_size)
    for step in range(steps_done + 1, config.steps + 1):
        start = perf_counter()
        batch = next(batches)
        _seed_random_numbers(processes.step_seed(config.seed, step), device)
        if not model.training:  # an evaluation between two steps may have changed the mode
            model.train()

        loss, guidance = gradients.compute(batch)
        gradient_norm = clip_gradients(gradients.parameters, config.clip_norm)
        _refuse_infinite(step, loss, gradient_norm, config)
        watch.see(step, loss, config)
        rate = learning_rate(step, config, d_model=model.config.d_model)
        optimizer.step(rate)

        yield StepRecord(
            step=step,
            loss=loss,
            learning_rate=rate,
            gradient_norm=gradient_norm,
            tokens_per_second=_n_tokens(batch, model.config.pad_id) / (perf_counter() - start),
            guidance=guidance,
        )


def _seed_random_numbers(seed: int, device: torch.device) -> None:
    """Seed the generators of a step; `torch.manual_seed` would query all possible devices."""
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def _n_tokens(batch: Batch, pad_id: int | None) -> int:
    """Return the number of input tokens of a batch, without padding."""
    if pad_id is None:
        return sum(tokens.numel() for tokens in batch.inputs)
    return sum(int(np.count_nonzero(tokens.numpy() != pad_id)) for tokens in batch.inputs)


def _refuse_infinite(step: int, loss: float, gradient_norm: float, config: TrainingConfig) -> None:
    """Raise RunError before an update with a non-finite loss or gradient, which would break all weights."""
    if math.isfinite(loss) and math.isfinite(gradient_norm):
        return
    failure = (
        Message("the gradient norm became {norm} at step {step:,}; the update was skipped. {way_out}")
        if math.isfinite(loss)
        else Message("the loss became {loss} at step {step:,}; the update was skipped. {way_out}")
    )
    raise RunError(failure, loss=loss, norm=gradient_norm, step=step, way_out=what_to_try(config))


class _ExplosionWatch:
    """Stops a training whose loss stays far above that of guessing."""

    def __init__(self, vocab_size: int) -> None:
        self.highest = _EXPLODED * math.log(vocab_size)  # nats
        self.n_steps: int | None = None  # consecutive steps with a loss above that; None: no step seen yet

    def see(self, step: int, loss: float, config: TrainingConfig) -> None:
        """Record the loss of a step, which may be high at first; raise RunError if it has exploded."""
        if self.n_steps is None:
            self.highest, self.n_steps = max(self.highest, _EXPLODED * loss), 0
        self.n_steps = self.n_steps + 1 if loss > self.highest else 0
        if self.n_steps >= _EXPLODED_STEPS:
            raise RunError(
                "the loss exploded: at step {step:,} it is {loss:,.1f} nats, and has been above {highest:.1f} for "
                "{n} steps. {way_out}",
                step=step,
                loss=loss,
                highest=self.highest,
                n=self.n_steps,
                way_out=what_to_try(config),
            )


def what_to_try(config: TrainingConfig) -> Message:
    """Return advice for a training that diverges."""
    advice = Message(
        "Start a new run with a smaller learning_rate_factor (now {factor:g}) or more warmup_steps (now "
        "{warmup_steps:,})"
    )
    if config.clip_norm is None:
        advice = Message(
            "Start a new run with a smaller learning_rate_factor (now {factor:g}) or more warmup_steps (now "
            "{warmup_steps:,}), or clip_norm 1"
        )
    return Message(advice, factor=config.learning_rate_factor, warmup_steps=config.warmup_steps)
