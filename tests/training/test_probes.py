"""Direct tests of a model: a healthy one passes with any weights, and a mistake is detected."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.headlight.diagnosis.tiny_runs import not_masked, not_shifted, see_every_token
from tests.model.building import odd_config
from transformer_core.config import Architecture
from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Corpus, Pair, Text
from transformer_core.instrument.intervene import intervene
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import OwnTokenizer, train_tokenizer
from transformer_core.training.probes import probe

TEXTS = [f"{a} {b} {c} {a}" for a in "abcd" for b in "efgh" for c in "ijk"]


def random_model(tokenizer: OwnTokenizer, architecture: Architecture) -> Transformer:
    """Far from even, so that each token given changes each guess."""
    layers = {"n_encoder_layers": architecture != "decoder_only", "n_decoder_layers": architecture != "encoder_only"}
    sizes: dict[str, Any] = {name: int(n) for name, n in layers.items()} | {"architecture": architecture}
    model = build(odd_config(vocab_size=tokenizer.vocab_size, tie_embeddings="none", **sizes), seed=0).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(2)
    return model


def batch_of(items: list, tokenizer: OwnTokenizer, architecture: Architecture) -> Batch:
    return next(batches_for(items, tokenizer, architecture, max_seq_len=24, batch_size=64, seed=0))


def test_a_causal_model_never_fails_the_test_of_leakage():
    tokenizer = train_tokenizer(TEXTS, kind="character")
    texts, pairs = [Text(text) for text in TEXTS], [Pair(text, text[::-1]) for text in TEXTS]
    same = [Text("a a a a a") for _ in TEXTS]  # the input is its own target, and shifted all the same
    cases: list[tuple[list, Architecture]] = [
        (texts, "decoder_only"),
        (pairs, "encoder_decoder"),
        (same, "decoder_only"),
    ]
    for items, architecture in cases:
        model = random_model(tokenizer, architecture)
        actual = probe(model, tokenizer, batch_of(items, tokenizer, architecture), items)
        assert actual["seen_accuracy"] == actual["hidden_accuracy"]


def answer_in(batch: Batch, model: Transformer) -> None:
    """Train to say the given token: what unshifted targets, or a missing mask, make of a model."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(80):
        loss = F.cross_entropy(model(*batch.inputs).flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize(
    ("mistake", "architecture"),
    [("not shifted", "decoder_only"), ("no mask", "decoder_only"), ("not masked", "encoder_only")],
)
def test_a_model_that_was_given_its_answers_fails_it(mistake: str, architecture: Architecture):
    tokenizer = train_tokenizer(TEXTS, kind="word", mask=architecture == "encoder_only")
    texts = [Text(text) for text in TEXTS]
    model = random_model(tokenizer, architecture)
    batch = batch_of(texts, tokenizer, architecture)
    if mistake != "no mask":
        batch = (not_shifted if mistake == "not shifted" else not_masked)(batch)
    unmasked = {"decoder.blocks.*.self_attn.hook_mask": see_every_token}
    with intervene(model, unmasked) if mistake == "no mask" else nullcontext():
        answer_in(batch, model)
        actual = probe(model, tokenizer, batch, texts)
    assert actual["seen_accuracy"] > 0.7
    assert actual["hidden_accuracy"] < actual["seen_accuracy"] - 0.3


def test_the_rest_against_a_naive_loop(turns: Corpus):
    """One pair after another, without padding."""
    tokenizer = train_tokenizer(turns.training_texts(), kind="word")
    pairs = [Pair("a", ""), Pair("x b", "Y"), *turns.held_out, turns.held_out[0]]
    model = random_model(tokenizer, "encoder_decoder")
    batch = batch_of(pairs, tokenizer, "encoder_decoder")
    for is_training in (True, False):
        model.train(is_training)
        actual = probe(model, tokenizer, batch, pairs)
        assert model.training == is_training
    losses, early = [], []
    n_unknown = n_targets = 0
    for pair in pairs:
        tgt = tokenizer.encode(pair.target, bos=True, eos=True)
        with torch.no_grad():
            logits = model(torch.tensor([tokenizer.encode(pair.source, eos=True)]), torch.tensor([tgt[:-1]]))[0]
        losses += F.cross_entropy(logits, torch.tensor(tgt[1:]), reduction="none").tolist()
        n_unknown, n_targets = n_unknown + tgt.count(tokenizer.unk_id), n_targets + len(tgt) - 1
        if pair.target:
            early.append(logits[0].softmax(-1)[tokenizer.eos_id].item())
    assert actual["training_loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-4)
    assert actual["early_end"] == pytest.approx(sum(early) / len(early), rel=1e-4)
    assert actual["unknown"] == pytest.approx(n_unknown / n_targets) and n_unknown
    assert actual["empty_target"] == pytest.approx(1 / len(pairs))
    assert actual["same_target"] == pytest.approx(2 / len(pairs))
    assert 0 <= actual["cut_outputs"] <= 1


def test_a_source_is_worth_what_its_absence_costs(turns: Corpus):
    tokenizer = train_tokenizer(turns.training_texts(), kind="word")
    pairs = list(turns.train)
    model, deaf = random_model(tokenizer, "encoder_decoder"), random_model(tokenizer, "encoder_decoder")
    batch = batch_of(pairs, tokenizer, "encoder_decoder")
    answer_in(batch, model)
    with torch.no_grad():
        for name, weights in deaf.named_parameters():
            if "cross_attn" in name:
                weights.zero_()
    assert probe(model, tokenizer, batch, pairs)["source_gain"] > 1
    assert probe(deaf, tokenizer, batch, pairs)["source_gain"] == pytest.approx(0, abs=1e-5)
    assert "source_gain" not in probe(model, tokenizer, batch, pairs[:1])  # there is no other source
