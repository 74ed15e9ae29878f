"""How long a training will take on this machine, before it has begun."""

from functools import cache
from time import perf_counter

import torch

from transformer_core.config import ModelConfig
from transformer_core.training.config import TrainingConfig

_SIDE = 384  # of the matrices that are multiplied to see how fast the machine is
_SHARE = 0.4  # of that speed which the matrix products of a training step reach, small as they are
_BEGINNINGS = 10e-3  # seconds a layer and a step that do not depend on its width: attention, norms, many small calls
_STEP = 8e-3  # seconds a step for the data, the optimizer, the record, and what is filmed and measured


def estimated_seconds(
    model: ModelConfig, training: TrainingConfig, *, tokens_per_row: float, products_per_second: float
) -> float:
    """Return about how long the steps of a training take; measuring and saving come on top.

    A step multiplies each weight of a matrix by each token that passes it, once forward and twice backward.

    Args:
        model: its shape.
        training: its steps and batches.
        tokens_per_row: tokens of a pair or a text on the average, those of source and target together.
        products_per_second: multiplications of two numbers that the machine does in a second (`products_per_second`).

    Source: Kaplan et al. 2020, sec. 2.1, for the count of products: 3 (forward and backward) a weight and token.
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
    """Return how many products of two numbers this machine's processor does in a second, measured once."""
    a, b = torch.randn(2, _SIDE, _SIDE)
    torch.mm(a, b)
    best = float("inf")
    for _ in range(8):
        start = perf_counter()
        torch.mm(a, b)
        best = min(best, perf_counter() - start)
    return float(_SIDE**3 / best)
