"""Whether a guided head matters: how many outputs are wrong when it is ablated, and when another one is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import zero_heads
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.evaluate import free_outputs


def guidance_facts(
    model: Transformer, tokenizer: Tokenizer, corpus: Corpus, training: TrainingConfig
) -> dict[str, Any]:
    """Return the facts about a guided head for a card: the errors without it, and without the others.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        corpus: that it was trained on; measured is on its held-out pairs, by all its measures.
        training: how it was trained.

    Returns:
        {} where no head was guided, or no measure judges. Else `pairs`, how many of the held-out ones are judged, and
        of these the shares in [0, 1] that are wrong: by the whole model (`wrong`), with the guided head switched off
        (`wrong_without_it`), and the mean over all other heads of the encoder (`wrong_without_another`).
    """
    if training.guided is None:
        return {}
    judged = [pair for pair in corpus.held_out if _verdict(corpus, pair, pair.target) is not None]
    if not judged:
        return {}
    wrong = shares_wrong(model, tokenizer, corpus, judged)
    others = np.delete(wrong.flatten(), np.ravel_multi_index(training.guided, wrong.shape))
    return {
        "pairs": len(judged),
        "wrong": round(_share_wrong(model, tokenizer, corpus, judged), 4),
        "wrong_without_it": round(float(wrong[training.guided]), 4),
        "wrong_without_another": round(float(others.mean()), 4),
    }


def shares_wrong(
    model: Transformer, tokenizer: Tokenizer, corpus: Corpus, pairs: Sequence[Pair]
) -> Float[np.ndarray, "layer head"]:
    """Return the share of wrong outputs with each head of the encoder zero-ablated.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        corpus: whose measures judge.
        pairs: that they judge.

    Returns:
        shares in [0, 1].
    """
    wrong = np.zeros((model.config.n_encoder_layers, model.config.n_heads))
    for layer, head in np.ndindex(*wrong.shape):
        with intervene(model, {f"encoder.blocks.{layer}.self_attn.hook_z": zero_heads([head])}):
            wrong[layer, head] = _share_wrong(model, tokenizer, corpus, pairs)
    return wrong


def _share_wrong(model: Transformer, tokenizer: Tokenizer, corpus: Corpus, pairs: Sequence[Pair]) -> float:
    verdicts = []
    for row, written in free_outputs(model, tokenizer, pairs):
        target = tokenizer.decode(tokenizer.encode(pairs[row].target))  # as this tokenizer writes it
        verdicts.append(_verdict(corpus, replace(pairs[row], target=target), tokenizer.decode(written)))
    return sum(verdict is False for verdict in verdicts) / len(verdicts)


def _verdict(corpus: Corpus, pair: Pair, output: str) -> bool | None:
    """Return whether an output is correct by all measures that apply to it; None if none does."""
    verdicts = [measure(pair, output) for measure in corpus.measures.values()]
    known = [verdict for verdict in verdicts if verdict is not None]
    return all(known) if known else None
