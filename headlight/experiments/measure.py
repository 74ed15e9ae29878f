"""The measurements of a variant: on held-out data, at lengths beyond those of training, and in free-running decoding.

All are made with the right masks and shifted targets, however a variant is trained: that is how a model is used.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from headlight.experiments.variants import ExperimentData, Variant, as_batch
from transformer_core.corpora.batching import IGNORED
from transformer_core.corpora.corpus import Pair
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import OwnTokenizer
from transformer_core.training.evaluate import evaluate

_MOST_WRITTEN = 24  # tokens of a sample: a model that cannot end writes without end


class Measured(NamedTuple):
    """What was measured of one variant."""

    metrics: Mapping[str, float]  # as `evaluate` returns them: loss in nats, the others in [0, 1]
    by_length: Sequence[float]  # share of right tokens in [0, 1], of each length that is tried
    outputs: Sequence[str]  # what it writes of each sample


def measure(variant: Variant, data: ExperimentData) -> Measured:
    """Measure a variant as it is now; the model is left in training."""
    metrics = evaluate(variant.model, data.tokenizer, data.corpus, data.held_out)
    variant.model.eval()
    by_length = accuracy_by_length(variant.model, data.tokenizer, data.by_length)
    outputs = written(variant.model, data.tokenizer, data.samples)
    variant.model.train()
    return Measured(metrics, by_length, outputs)


@torch.inference_mode()
def accuracy_by_length(model: Transformer, tokenizer: OwnTokenizer, pairs: Mapping[int, Sequence[Pair]]) -> list[float]:
    """Return, for pairs of each length, how many target tokens are the most probable one, the right ones before each.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        pairs: by length.

    Returns:
        For each length, in order, a share in [0, 1]; the end of the text counts too.
    """
    if not pairs:
        return []
    rows = [pair for of_length in pairs.values() for pair in of_length]
    batch = as_batch(rows, tokenizer, max_seq_len=model.config.max_seq_len)
    counts = batch.targets != IGNORED  # [batch, tgt]
    is_right = (model(*batch.inputs).argmax(dim=-1) == batch.targets) & counts
    sizes = [len(of_length) for of_length in pairs.values()]
    n_right, n_targets = (marks.sum(dim=1).split(sizes) for marks in (is_right, counts))  # by length: [row]
    return [(ours.sum() / of.sum()).item() for ours, of in zip(n_right, n_targets, strict=True)]


def written(model: Transformer, tokenizer: OwnTokenizer, pairs: Sequence[Pair]) -> list[str]:
    """Return what a model makes of each source, left to itself, always the most probable token next.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        pairs: whose sources are read; at least one.
    """
    src = as_batch(pairs, tokenizer, max_seq_len=model.config.max_seq_len).inputs[0]
    outputs = greedy_decode(model, src, max_new_tokens=min(_MOST_WRITTEN, model.config.max_seq_len - 1)).tokens
    return [tokenizer.decode(output) for output in outputs.tolist()]
