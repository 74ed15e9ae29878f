"""Measuring heads: cheap enough for every snapshot of a training."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from headlight.analysis.heads.measured_texts import MeasuredTexts
from headlight.analysis.heads.measures import ENTROPIES, SHARES, HeadMeasures, HeadName, Share
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.trace.cases import Case, case_of
from transformer_core.config import ModelConfig
from transformer_core.corpora.corpus import Pair, Text
from transformer_core.errors import CorpusError
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer

N_SHUFFLES = 16  # orders of the tokens that chance is measured in
MAX_TOKENS = 64  # of each side; of longer texts, the beginning is measured


class HeadMeter:
    """Measures heads repeatedly on the same texts, whose weights are computed once.

    Args:
        config: of the models that are to be measured.
        tokenizer: the models' own.
        items: held-out pairs or texts; about ten give a good picture.
        max_tokens: of each side; of longer texts, the beginning is measured.
        n_shuffles: in how many other orders the tokens are put, to see what chance gives.

    Raises:
        CorpusError: there are no items.
    """

    def __init__(
        self,
        config: ModelConfig,
        tokenizer: Tokenizer,
        items: Sequence[Pair] | Sequence[Text],
        *,
        max_tokens: int = MAX_TOKENS,
        n_shuffles: int = N_SHUFFLES,
    ) -> None:
        if not len(items):
            raise CorpusError("there is nothing to measure heads on; give at least one held-out pair or text")
        cases = [case_of(config, tokenizer, item, max_tokens=max_tokens) for item in items]
        self._batches = [
            MeasuredTexts(config, tokenizer, batch, n_shuffles=n_shuffles) for batch in _batches(config, cases)
        ]

    @torch.inference_mode()
    def measure(self, model: Transformer) -> list[HeadMeasures]:
        """Measure every head, with one forward of all texts together.

        Args:
            model: left as it was, in training or in evaluation.

        Returns:
            The heads in the order of the forward pass.
        """
        was_training = model.training
        model.eval()
        try:
            batch_sums = [batch.sums(model) for batch in self._batches]
        finally:
            model.train(was_training)
        measured = []
        for name, attention in attentions_of(model.config).items():
            sums, counts = (np.sum(part, axis=0) for part in zip(*(batch[name] for batch in batch_sums), strict=True))
            means = self._batches[0].means(name, sums, counts)
            measured += [
                _head_measures(HeadName(name, layer, head), {m: values[layer, head] for m, values in means.items()})
                for layer in range(attention.n_layers(model.config))
                for head in range(model.config.n_heads)
            ]
        return measured


def measure_heads(
    model: Transformer,
    tokenizer: Tokenizer,
    items: Sequence[Pair] | Sequence[Text],
    *,
    max_tokens: int = MAX_TOKENS,
    n_shuffles: int = N_SHUFFLES,
) -> list[HeadMeasures]:
    """Measure every head once; to measure on the same texts again, keep a `HeadMeter`.

    Raises:
        CorpusError: there are no items.
    """
    meter = HeadMeter(model.config, tokenizer, items, max_tokens=max_tokens, n_shuffles=n_shuffles)
    return meter.measure(model)


def _batches(config: ModelConfig, cases: Sequence[Case]) -> list[Sequence[Case]]:
    """Return the texts as one batch; as batches of one text where padding could not be masked."""
    return [cases] if config.pad_id is not None or not config.has_encoder else [[case] for case in cases]


def _head_measures(name: HeadName, by_name: Mapping[str, Float[np.ndarray, " order"]]) -> HeadMeasures:
    """Return the measures of one head, of their means in each order of the tokens."""
    measures: dict[str, Any] = {m: None if np.isnan(by_name[m][0]) else float(by_name[m][0]) for m in ENTROPIES}
    measures |= {m: _share(by_name[m]) if m in by_name else None for m in SHARES}
    return HeadMeasures(**name._asdict(), **measures)


def _share(scores: Float[np.ndarray, " order"]) -> Share | None:
    """Return a score beside those of shuffled tokens; None where the texts give nothing to measure."""
    by_chance = scores[1:][~np.isnan(scores[1:])]
    if np.isnan(scores[0]) or not len(by_chance):
        return None
    return Share(score=float(scores[0]), chance=float(by_chance.mean()), spread=float(by_chance.std()))
