"""The loop: batches in, one record a step out."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch

from transformer_core.corpora.batching import Batch
from transformer_core.errors import RunError
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.objective import label_smoothed_cross_entropy
from transformer_core.training.optimizer import paper_adam, set_learning_rate
from transformer_core.training.schedule import learning_rate


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """What one step showed."""

    step: int  # counted from 1
    loss: float  # smoothed cross-entropy before the step's update, nats per target that counts
    learning_rate: float  # of this step's update
    gradient_norm: float  # L2 norm over all parameters, before clipping
    tokens_per_second: float  # tokens that the model is given, without padding, per second


def train(
    model: Transformer,
    batches: Iterator[Batch],
    config: TrainingConfig,
    *,
    optimizer: torch.optim.Optimizer | None = None,
    steps_done: int = 0,
) -> Iterator[StepRecord]:
    """Train the model, yielding after each step; whoever iterates may save, measure, or leave between two steps.

    The random numbers of a step (dropout) depend on the seed and the step alone. So the same call gives the same
    losses, and a call that goes on from saved weights, optimizer and position in the data gives the losses of an
    unbroken one, whatever happened between two steps.

    Args:
        model: trained in place.
        batches: where the data come from; one is taken a step.
        config: the numbers.
        optimizer: the optimizer to go on with; without one, a new `paper_adam`.
        steps_done: steps that lie behind a resumed run; the first step is the next one.

    Yields:
        One record a step, from `steps_done` + 1 to `config.steps`.

    Raises:
        RunError: the loss or the gradient is not a finite number; the weights are those before that step.
    """
    if optimizer is None:
        optimizer = paper_adam(model, config)
    device = next(model.parameters()).device
    for step in range(steps_done + 1, config.steps + 1):
        start = perf_counter()
        batch = next(batches).to(device)
        torch.manual_seed(_step_seed(config.seed, step))
        model.train()

        rate = learning_rate(step, config, d_model=model.config.d_model)
        set_learning_rate(optimizer, rate)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bf16"):
            logits = model(*batch.inputs)  # [batch pos vocab]
        loss = label_smoothed_cross_entropy(logits.float(), batch.targets, smoothing=config.label_smoothing)
        loss.backward()
        longest = math.inf if config.clip_norm is None else config.clip_norm
        gradient_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), longest).item()
        _refuse_infinite(step, loss.item(), gradient_norm, config)
        optimizer.step()

        yield StepRecord(
            step=step,
            loss=loss.item(),
            learning_rate=rate,
            gradient_norm=gradient_norm,
            tokens_per_second=_n_tokens(batch, model.config.pad_id) / (perf_counter() - start),
        )


def _step_seed(seed: int, step: int) -> int:
    """Mix seed and step to the seed of one step; neighbouring steps get unrelated ones."""
    return int(np.random.SeedSequence((seed, step)).generate_state(1)[0])


def _n_tokens(batch: Batch, pad_id: int | None) -> int:
    """Count the tokens that a batch gives the model, without padding."""
    return sum(int((tokens != pad_id).sum()) if pad_id is not None else tokens.numel() for tokens in batch.inputs)


def _refuse_infinite(step: int, loss: float, gradient_norm: float, config: TrainingConfig) -> None:
    """Stop before an update that would spoil every weight."""
    if math.isfinite(loss) and math.isfinite(gradient_norm):
        return
    what = f"the loss became {loss}" if not math.isfinite(loss) else f"the gradient's norm became {gradient_norm}"
    raise RunError(
        f"{what} at step {step:,}; the update was left out, what was saved before is whole. Start a new run with a "
        f"smaller learning_rate_factor (now {config.learning_rate_factor:g}) or more warmup_steps "
        f"(now {config.warmup_steps:,})"
    )
