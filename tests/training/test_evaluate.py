"""Measuring against a naive loop: one pair after another, without cache, padding or batches."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from transformer_core.corpora.batching import PairBatches
from transformer_core.corpora.corpus import Corpus, Pair, exact_match
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.errors import CorpusError
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.evaluate import evaluate
from transformer_core.training.loop import train


def begins_with_a(pair: Pair, output: str) -> bool | None:
    return output.startswith("A") if pair.target.startswith("A") else None


def never(pair: Pair, output: str) -> bool | None:
    return None


@pytest.fixture
def half_trained(model: Transformer, batches: PairBatches, config: TrainingConfig) -> Transformer:
    """A model that gets some pairs right and some wrong."""
    for _ in train(model, batches, replace(config, steps=150, warmup_steps=50)):
        pass
    return model.eval()


def test_it_agrees_with_a_naive_loop(turns: Corpus, half_trained: Transformer, tokenizer: Tokenizer):
    measures: dict[str, Callable[[Pair, str], bool | None]] = {
        "exact_match": exact_match,
        "begins_with_a": begins_with_a,
        "never": never,
    }
    corpus = replace(turns, measures=measures)
    pairs = turns.train[:40]
    losses: list[float] = []
    verdicts: dict[str, list[bool]] = {"exact_match": [], "begins_with_a": []}
    for pair in pairs:
        src = torch.tensor([tokenizer.encode(pair.source, eos=True)])
        tgt = torch.tensor([tokenizer.encode(pair.target, bos=True, eos=True)])
        with torch.no_grad():
            logits = half_trained(src, tgt[:, :-1])
        losses += F.cross_entropy(logits[0], tgt[0, 1:], reduction="none").tolist()
        output = tokenizer.decode(greedy_decode(half_trained, src, use_cache=False).tokens[0].tolist())
        verdicts["exact_match"].append(output == pair.target)
        if pair.target.startswith("A"):
            verdicts["begins_with_a"].append(output.startswith("A"))
    found = evaluate(half_trained, tokenizer, corpus, pairs)
    assert found.keys() == {"loss", "exact_match", "begins_with_a"}  # what applies to no pair has no value
    assert found["loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-4)
    for name, values in verdicts.items():
        assert found[name] == sum(values) / len(values)
    assert 0 < found["exact_match"] < 1  # else this test sees too little


@pytest.mark.parametrize("is_training", [True, False])
def test_the_model_stays_as_it_was(turns: Corpus, model: Transformer, tokenizer: Tokenizer, is_training: bool):
    model.train(is_training)
    evaluate(model, tokenizer, turns, turns.held_out)
    assert all(module.training == is_training for module in model.modules())


def test_there_must_be_pairs(turns: Corpus, model: Transformer, tokenizer: Tokenizer):
    with pytest.raises(CorpusError, match="at least one"):
        evaluate(model, tokenizer, turns, [])
