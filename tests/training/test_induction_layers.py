"""A trained model of one attention layer stays at the bigram floor of repeated words; one of two layers learns them.

Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits": induction heads need two layers;
Sanford et al. 2024, arXiv 2408.14332: one layer needs a size that grows with the length.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import pytest
import torch

import transformer_core as tc
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Text
from transformer_core.corpora.tasks.induction import induction
from transformer_core.training.loop import train
from transformer_core.training.presets import preset_training

pytestmark = pytest.mark.training

MIN_DETERMINED = 30  # words that a text must repeat: on such texts the second layer learns within some hundred steps


class Measured(NamedTuple):
    """Of the words that an earlier copy determines."""

    loss: float  # nats per word
    accuracy: float


@pytest.fixture(scope="module")
def texts() -> tuple[list[Text], list[Text]]:
    """What to train on, and what is held out."""
    corpus = induction()
    train, held_out = ([text for text in part if _is_long(text)] for part in (corpus.train, corpus.held_out))
    assert len(train) > 1000
    assert len(held_out) > 50
    return train, held_out


def _is_long(text: Text) -> bool:
    return len(text.determined) >= MIN_DETERMINED


def bigram_floor(train: Sequence[Text], held_out: Sequence[Text]) -> Measured:
    """The word before alone, by counts; smoothed with the words' own frequencies as Witten and Bell (1991) do."""
    after: dict[str, Counter[str]] = defaultdict(Counter)
    frequency: Counter[str] = Counter()
    for text in train:
        words = text.text.split()
        frequency.update(words)
        for before, word in pairwise(words):
            after[before][word] += 1
    n, losses, n_right = frequency.total(), [], 0
    for text in held_out:
        words = text.text.split()
        for unit in text.determined:
            counts = after[words[unit - 1]]
            share = (counts[words[unit]] + len(counts) * frequency[words[unit]] / n) / (counts.total() + len(counts))
            losses.append(-math.log(share))
            n_right += counts.most_common(1)[0][0] == words[unit]
    return Measured(sum(losses) / len(losses), n_right / len(losses))


def trained(n_layers: int, texts: Sequence[Text], tokenizer: tc.Tokenizer) -> tc.Transformer:
    config = tc.presets.tiny_attention(tokenizer.vocab_size).changed(n_decoder_layers=n_layers, d_model=64)
    model = tc.build(config, seed=0)
    training = replace(preset_training("tiny-attention", "induction"), steps=400, batch_size=32, warmup_steps=100)
    batches = batches_for(texts, tokenizer, "decoder_only", max_seq_len=64, batch_size=32, seed=0)
    for _ in train(model, batches, training):
        pass
    return model.eval()


def measured(model: tc.Transformer, texts: Sequence[Text], tokenizer: tc.Tokenizer) -> Measured:
    losses, n_right = [], 0
    for text in texts:
        tokens = tokenizer.encode(text.text, bos=True)  # <bos> shifts units by one: logits at a unit predict that unit
        with torch.no_grad():
            log_probs = model(torch.tensor([tokens]))[0].log_softmax(dim=-1)
        for unit in text.determined:
            losses.append(-float(log_probs[unit, tokens[unit + 1]]))
            n_right += int(log_probs[unit].argmax()) == tokens[unit + 1]
    return Measured(sum(losses) / len(losses), n_right / len(losses))


def test_one_layer_stays_at_the_bigram_floor_and_two_layers_do_not(texts: tuple[list[Text], list[Text]]):
    known, held_out = texts
    tokenizer = tc.train_tokenizer([text.text for text in known], kind="word")
    floor = bigram_floor(known, held_out)
    one, two = (measured(trained(n, known, tokenizer), held_out, tokenizer) for n in (1, 2))
    assert floor.accuracy < 0.03
    assert one.accuracy < 0.05
    assert one.loss > floor.loss - 0.3, "nats"
    assert two.accuracy > 0.4
    assert two.loss < floor.loss - 2
