"""Metrics against a naive loop: one pair at a time, without cache, padding or batches."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.model.building import DECODER, ENCODER, odd_config
from transformer_core.config import Architecture
from transformer_core.corpora.batch_order import IGNORED
from transformer_core.corpora.batching import PairBatches, batches_for
from transformer_core.corpora.corpus import Corpus, Pair, Text
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.errors import CorpusError, Message
from transformer_core.instrument.intervene import intervene
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import OwnTokenizer, Tokenizer, train_tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.evaluate import evaluate, free_outputs
from transformer_core.training.loop import train


def begins_with_a(pair: Pair, output: str) -> bool | None:
    return output.startswith("A") if pair.target.startswith("A") else None


def never(pair: Pair, output: str) -> bool | None:
    return None


@pytest.fixture
def half_trained(model: Transformer, batches: PairBatches, config: TrainingConfig) -> Transformer:
    """A model that gets some pairs right and some wrong."""
    for _ in train(model, batches, replace(config, steps=80, warmup_steps=40)):
        pass
    return model.eval()


def test_it_agrees_with_a_naive_loop(turns: Corpus, half_trained: Transformer, tokenizer: Tokenizer):
    measures: dict[str, Callable[[Pair, str], bool | None]] = {"begins_with_a": begins_with_a, "never": never}
    corpus = replace(turns, measures=measures)
    pairs = turns.train[:40]
    losses: list[float] = []
    right: list[bool] = []
    verdicts: dict[str, list[bool]] = {"exact_match": [], "begins_with_a": []}
    for pair in pairs:
        src = torch.tensor([tokenizer.encode(pair.source, eos=True)])
        tgt = torch.tensor([tokenizer.encode(pair.target, bos=True, eos=True)])
        with torch.no_grad():
            logits = half_trained(src, tgt[:, :-1])
        losses += F.cross_entropy(logits[0], tgt[0, 1:], reduction="none").tolist()
        right += (logits[0].argmax(-1) == tgt[0, 1:]).tolist()
        written = greedy_decode(half_trained, src, use_cache=False).tokens[0].tolist()
        verdicts["exact_match"].append(written == tgt[0].tolist())
        output = tokenizer.decode(written)
        if pair.target.startswith("A"):
            verdicts["begins_with_a"].append(output.startswith("A"))
    for is_training in (True, False):
        half_trained.train(is_training)
        actual = evaluate(half_trained, tokenizer, corpus, pairs)
        assert all(module.training == is_training for module in half_trained.modules())
    with pytest.raises(CorpusError, match="at least one"):
        evaluate(half_trained, tokenizer, turns, [])
    assert actual.keys() == {"loss", "accuracy", "exact_match", "begins_with_a"}  # what applies to no pair has no value
    assert actual["accuracy"] == pytest.approx(sum(right) / len(right))
    assert actual["loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-4)
    for name, values in verdicts.items():
        assert actual[name] == sum(values) / len(values)
    assert 0 < actual["exact_match"] < 1  # else this test sees too little


def test_an_output_is_read_no_further_than_it_can_be_right(turns: Corpus, model: Transformer, tokenizer: Tokenizer):
    """But where the question is whether it ends, it may become twice as long as its source."""
    pairs = turns.held_out[:9]
    targets = [tokenizer.encode(pair.target, eos=True) for pair in pairs]
    sources = [tokenizer.encode(pair.source, eos=True) for pair in pairs]
    is_end = torch.arange(model.config.vocab_size).eq(tokenizer.eos_id or 0)
    with intervene(model.eval(), {"hook_logits": lambda logits, site: logits.masked_fill(is_end, -1e9)}):
        lengths = {
            beyond: {len(written) for _, written in free_outputs(model, tokenizer, pairs, beyond_sources=beyond)}
            for beyond in (True, False)
        }
    assert lengths[False] == {max(map(len, targets)) + 1}
    assert lengths[True] == {min(2 * max(map(len, sources)) + 8, model.config.max_seq_len - 1)}


WRITTEN_ANYHOW = [  # as people write: lower case, capitals inside, spaces, punctuation, targets far longer than sources
    ("ein hund", "a dog"),
    ("Eine Katze", "a  CAT ( purrs )"),
    ("zwei", "two, McDonald's"),
    ("drei", "three  "),
    ("vier", "one two three four one two three four"),
    ("fünf", "été 5-5"),
]


def test_a_perfect_model_matches_exactly_however_its_targets_are_written():
    """Greedy decoding reads the same as teacher forcing while it is correct, so with all tokens all texts are correct.

    And a measure of the corpus accepts the correct answer, though words lose their capitals and spaces.
    """
    pairs = tuple(Pair(*sides) for sides in WRITTEN_ANYHOW)
    corpus = Corpus(
        name="anyhow",
        title="Anyhow",
        description=Message("Pairs as people write them."),
        train=pairs,
        examples=(),
        tokenizer_kind="word",
        measures={"the_same": lambda pair, output: output == pair.target},
    )
    tokenizer = train_tokenizer(corpus.training_texts(), kind="word")
    one_layer: dict[str, Any] = {"n_encoder_layers": 1, "n_decoder_layers": 1, "max_seq_len": 60, "dropout": 0.0}
    perfect = build(odd_config(vocab_size=tokenizer.vocab_size, norm_position="pre", **one_layer))
    numbers = TrainingConfig(steps=90, batch_size=6, warmup_steps=10, learning_rate_factor=0.3, schedule="cosine")
    batches = batches_for(pairs, tokenizer, "encoder_decoder", max_seq_len=60, batch_size=6, seed=0)
    for _ in train(perfect, batches, replace(numbers, label_smoothing=0.0)):
        pass
    actual = evaluate(perfect, tokenizer, corpus, pairs)
    assert actual["accuracy"] == 1
    assert (actual["exact_match"], actual["the_same"]) == (1, 1)


@pytest.fixture(scope="module")
def echoes() -> Corpus:
    """Texts of two halves, the second of which repeats the first: each of its words but the first can be known."""
    rng = random.Random(0)
    texts = []
    for _ in range(40):
        half = rng.sample("abcdefgh", rng.randint(3, 5))
        n = len(half)
        alignment = tuple((unit - n,) if unit > n else () for unit in range(2 * n))
        texts.append(Text(" ".join(half + half), alignment))
    return Corpus(
        name="echoes",
        title="Echoes",
        description=Message("Letters, twice."),
        train=tuple(texts[:30]),
        held_out=tuple(texts[30:]),
        examples=("a b c a b c",),
        tokenizer_kind="word",
        text_measures={"ends_with_a": lambda text, output: output.endswith("a") if "h" in text.text else None},
        prompt_of=lambda text: text.text[: len(text.text) // 2],
    )


def one_stack(tokenizer: OwnTokenizer, architecture: Architecture) -> Transformer:
    """A small random model of one stack, with probabilities that are far from even."""
    stack = DECODER if architecture == "decoder_only" else ENCODER
    changes = stack | {"vocab_size": tokenizer.vocab_size, "max_seq_len": 14, "tie_embeddings": "none"}
    model = build(odd_config(**changes), seed=1).eval()
    with torch.no_grad():
        model.unembed.weight.mul_(5)
    return model


def test_texts_of_a_decoder_against_a_naive_loop(echoes: Corpus):
    tokenizer = train_tokenizer(echoes.training_texts(), kind="word")
    model = one_stack(tokenizer, "decoder_only")
    losses, right, determined, ends_with_a = [], [], [], []
    for text in echoes.held_out:
        ids = tokenizer.encode(text.text, bos=True, eos=True)
        with torch.no_grad():
            logits = model(torch.tensor([ids[:-1]]))[0]
        losses += F.cross_entropy(logits, torch.tensor(ids[1:]), reduction="none").tolist()
        guesses = logits.argmax(-1).tolist()
        right += [guess == i for guess, i in zip(guesses, ids[1:], strict=True)]
        n = len(text.text.split()) // 2
        determined += [guesses[unit] == ids[unit + 1] for unit in range(n + 1, 2 * n)]  # unit u is token u + 1
        if "h" in text.text:
            prompt = tokenizer.encode(echoes.prompt_of(text), bos=True)
            written = greedy_decode(model, torch.tensor([prompt]), use_cache=False).tokens[0, len(prompt) :]
            ends_with_a.append(tokenizer.decode(written.tolist()).endswith("a"))
    actual = evaluate(model, tokenizer, echoes, echoes.held_out)
    assert actual.keys() == {"loss", "accuracy", "determined_accuracy", "ends_with_a"}
    assert actual["loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert actual["accuracy"] == pytest.approx(sum(right) / len(right))
    assert actual["determined_accuracy"] == pytest.approx(sum(determined) / len(determined))
    assert actual["ends_with_a"] == pytest.approx(sum(ends_with_a) / len(ends_with_a))


def test_texts_of_an_encoder_are_measured_at_their_masks_alike_each_time(echoes: Corpus):
    tokenizer = train_tokenizer(echoes.training_texts(), kind="word", mask=True)
    model = one_stack(tokenizer, "encoder_only")
    actual = evaluate(model, tokenizer, echoes, echoes.held_out)
    batches = batches_for(echoes.held_out, tokenizer, "encoder_only", max_seq_len=14, batch_size=128, seed=0)
    batch = next(batches)
    counts = batch.targets != IGNORED
    with torch.no_grad():
        logits = model(*batch.inputs)[counts]
    assert actual.keys() == {"loss", "accuracy"}
    assert actual["loss"] == pytest.approx(float(F.cross_entropy(logits, batch.targets[counts])), rel=1e-5)
    assert actual == evaluate(model, tokenizer, echoes, echoes.held_out)
