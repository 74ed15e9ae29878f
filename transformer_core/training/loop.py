"""The training loop: batches in, one record per step out."""

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch

from transformer_core.corpora.batch_order import Batch
from transformer_core.errors import Message, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.gradients import Gradients, clip_gradients
from transformer_core.training.optimizer import Adam
from transformer_core.training.processes import ALONE, Processes
from transformer_core.training.schedule import learning_rate

_EXPLODED = 3.0  # times the loss of guessing evenly, or times the first loss where that is more
_EXPLODED_STEPS = 5  # consecutive ones: a single bad batch is not an explosion


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """The metrics of one step."""

    step: int  # counted from 1
    loss: float  # smoothed cross-entropy before the step's update, nats per target that counts
    learning_rate: float  # of this step's update
    gradient_norm: float  # L2 norm over all parameters, before clipping
    tokens_per_second: float  # tokens that the model is given, without padding, per second
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
        steps_done: steps before a resumed run.
        processes: those that train together.

    Yields:
        One record per step, from `steps_done` + 1 to `config.steps`; the same in every process, except for the time.

    Raises:
        RunError: the loss or the gradient is not finite, and the weights are those before that step; or the loss has
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
        if not model.training:  # evaluation between two steps has left it so
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
    """Raise before an update that would break all weights."""
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
        self.n_steps: int | None = None  # for which the loss has been above that; None: no step was seen yet

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
