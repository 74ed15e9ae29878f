"""How long a training takes on this machine, and how many steps suit a corpus."""

from dataclasses import dataclass, replace
from functools import cache
from math import floor, log10
from time import perf_counter

import torch

from transformer_core.config import ModelConfig
from transformer_core.training.config import TrainingConfig

MOST_EPOCHS = 100  # beyond it, a small model only memorizes a small text
MOST_SECONDS = 20 * 60.0  # of a first training on this machine
LEAST_STEPS = 400  # fewer teach hardly anything
_SIDE = 384  # of the matrices in the speed test
_SHARE = 0.4  # of that speed, reached by the smaller matrix products of a training step
_BEGINNINGS = 10e-3  # seconds per layer and step, whatever its width: attention, norms, many small calls
_STEP = 8e-3  # seconds per step for data, optimizer, logging, snapshots and measurements


def estimated_seconds(
    model: ModelConfig, training: TrainingConfig, *, tokens_per_row: float, products_per_second: float
) -> float:
    """Return about how many seconds the steps of a training take, without measuring and saving.

    Args:
        model: its shape.
        training: its steps and batches.
        tokens_per_row: mean tokens of a pair, source and target together, or of a text.
        products_per_second: multiplications per second of this machine.

    Source: Kaplan et al. 2020, sec. 2.1, for the number of products: 3 (forward and backward) per weight and token.
    """
    attention = 2 * model.d_model * model.d_head * (model.n_heads + model.n_kv_heads)
    feed_forward = (3 if model.gated else 2) * model.d_model * model.d_ff
    n_texts = 2 if model.architecture == "encoder_decoder" else 1  # in a row, and attentions in a decoder layer
    per_text = training.batch_size * min(tokens_per_row / n_texts, model.max_seq_len)
    encoder = model.n_encoder_layers * (attention + feed_forward)
    decoder = model.n_decoder_layers * (attention * n_texts + feed_forward)
    products = 3 * per_text * (encoder + decoder + model.d_model * model.vocab_size)
    n_layers = model.n_encoder_layers + model.n_decoder_layers
    beginnings = training.accumulate * n_layers * _BEGINNINGS
    return training.steps * (products / (_SHARE * products_per_second) + beginnings + _STEP)


@cache
def products_per_second() -> float:
    """Return the multiplications per second of this machine's processor, measured once."""
    a, b = torch.randn(2, _SIDE, _SIDE)
    torch.mm(a, b)
    best = float("inf")
    for _ in range(8):
        start = perf_counter()
        torch.mm(a, b)
        best = min(best, perf_counter() - start)
    return float(_SIDE**3 / best)


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A training, and why it is shorter than the preset's."""

    training: TrainingConfig
    usual_steps: int  # of the preset
    is_for_time: bool  # it would take too long; otherwise the corpus is small

    @property
    def is_shorter(self) -> bool:
        """Whether it has fewer steps than the preset."""
        return self.training.steps < self.usual_steps


def suggest(usual: TrainingConfig, *, n_rows: int, seconds_per_step: float) -> Suggestion:
    """Return a preset's training with at most as many steps as suit a corpus and this machine.

    Args:
        usual: the preset's training.
        n_rows: pairs, or windows of texts, per epoch.
        seconds_per_step: on this machine; 0: unknown, or a GPU.
    """
    for_corpus = MOST_EPOCHS * n_rows / usual.batch_size
    for_time = MOST_SECONDS / seconds_per_step if seconds_per_step else float("inf")
    n_steps = max(LEAST_STEPS, min(for_corpus, for_time))
    unit = 10 ** (floor(log10(n_steps)) - 1) if n_steps < usual.steps else 1
    steps = int(min(n_steps, usual.steps) // unit * unit)  # two digits, such as 430 or 1,800
    training = usual
    if steps < usual.steps:
        training = replace(
            usual,
            steps=steps,
            warmup_steps=max(1, min(usual.warmup_steps, steps // 5)),
            evaluate_every=max(1, min(usual.evaluate_every, steps // 4)),
        )
    return Suggestion(training=training, usual_steps=usual.steps, is_for_time=for_time < for_corpus)
