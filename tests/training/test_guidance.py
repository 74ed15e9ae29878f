"""Guidance: its loss against naive loops and slopes, its gradients however a batch is divided, and its errors."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.training.small_runs import go_on, logged, work
from transformer_core.config import ModelConfig
from transformer_core.corpora.batch_order import Batch, Batches
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.corpora.generated import GeneratedCorpus
from transformer_core.errors import ConfigError, Message
from transformer_core.hooks import active_hooks, named_hook_points
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import OwnTokenizer, train_tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.evaluate import evaluate
from transformer_core.training.guidance import antecedent_shares, check_guidance, guidance_loss
from transformer_core.training.loop import Gradients
from transformer_core.training.objective import label_smoothed_cross_entropy
from transformer_core.training.processes import ALONE, Processes
from transformer_core.training.run import begin as beginning
from transformer_core.training.run.job import Job
from transformer_core.training.run.request import Settings

MODEL: dict[str, Any] = {"d_model": 8, "d_ff": 12, "n_heads": 2, "n_encoder_layers": 2, "n_decoder_layers": 1}
TRAINING: dict[str, Any] = {"steps": 9, "batch_size": 6, "warmup_steps": 4, "log_every": 1, "evaluate_every": 5}
TRAINING |= {"evaluate_pairs": 4, "film_megabytes": 0}
GUIDED: dict[str, Any] = {"guided_head": "encoder.1.1", "guidance_weight": 0.5}


def referring(seed: int) -> tuple[list[Pair], list[Pair]]:
    """Two letters, one of them doubled, and a word that stands for the single one; every third pair has no such word.

    "a b b it" is "a b b a", and "a b b both" means a and b.
    """
    pairs = []
    for number, (one, other) in enumerate(permutations("abcdefghij", 2)):
        if number % 3 == 0:
            pairs.append(Pair(f"{one} {other}", f"{one} {other}", None, ()))
        elif number % 3 == 1:
            pairs.append(Pair(f"{one} {other} {other} it", f"{one} {other} {other} {one}", None, ((3, 0),)))
        else:
            pairs.append(Pair(f"{one} {other} both", f"{one} {other} {other} {one}", None, ((2, 0), (2, 1))))
    return pairs[::2], pairs[1::2]


REFERRING = GeneratedCorpus(
    about=Corpus(
        name="referring",
        title="Referring",
        description=Message("Letters, and words for them."),
        examples=("a b b it",),
        tokenizer_kind="word",
    ),
    draw=referring,
)


@pytest.fixture(scope="module")
def letters() -> Corpus:
    return REFERRING(seed=0)


@pytest.fixture(scope="module")
def tokenizer(letters: Corpus) -> OwnTokenizer:
    return train_tokenizer(letters.training_texts(), kind="word")


@pytest.fixture
def model(tokenizer: OwnTokenizer) -> Transformer:
    sizes = MODEL | {"vocab_size": tokenizer.vocab_size, "max_seq_len": 8, "dropout": 0.0}
    return build(ModelConfig(**sizes), seed=3)


@pytest.fixture
def batch(letters: Corpus, tokenizer: OwnTokenizer) -> Batch:
    return next(batches_of(letters.train, tokenizer, 9))


def batches_of(pairs: Sequence[Pair], tokenizer: OwnTokenizer, n: int) -> Batches:
    sizes: dict[str, Any] = {"max_seq_len": 8, "batch_size": n, "seed": 0}
    return batches_for(pairs, tokenizer, "encoder_decoder", with_antecedents=True, **sizes)


def loss_by_loops(pattern: Tensor, antecedents: Tensor) -> float | None:
    """The formula, one pronoun after the other."""
    losses = []
    for rows, given in zip(pattern.tolist(), antecedents.tolist(), strict=True):
        for weights, marks in zip(rows, given, strict=True):
            if any(marks):
                losses.append(-sum(math.log(w) / sum(marks) for w, mark in zip(weights, marks, strict=True) if mark))
    return sum(losses) / len(losses) if losses else None


def test_the_loss_is_that_of_a_naive_loop_and_its_gradient_is_the_slope():
    random = torch.Generator().manual_seed(0)
    scores = torch.randn(3, 5, 5, generator=random, dtype=torch.float64)
    antecedents = torch.rand(3, 5, 5, generator=random) < 0.15
    loss = guidance_loss(scores.softmax(dim=-1), antecedents)
    assert loss.item() == pytest.approx(loss_by_loops(scores.softmax(dim=-1), antecedents), rel=1e-12)
    assert torch.autograd.gradcheck(
        lambda x: guidance_loss(x.softmax(dim=-1), antecedents), scores.requires_grad_(), rtol=1e-6
    )


def test_a_weight_of_zero_costs_much_and_not_everything():
    zero = torch.tensor([[[0.0, 1.0]]], requires_grad=True)
    loss = guidance_loss(zero, torch.tensor([[[True, False]]]))
    loss.backward()
    assert 80 < loss.item() < 100
    assert zero.grad is not None and zero.grad.isfinite().all()


def patterns_by_hand(model: Transformer, source: Tensor, layer: int) -> Tensor:
    """The pattern of a layer for one source without padding, kept by a handler of our own."""
    kept: list[Tensor] = []

    def keep(pattern: Tensor) -> Tensor:
        kept.append(pattern)
        return pattern

    point = named_hook_points(model)[f"encoder.blocks.{layer}.self_attn.hook_pattern"]
    with active_hooks({point: keep}):
        model.encode(source)
    return kept[0][0]


def test_however_a_batch_is_divided_the_gradients_are_the_same(model: Transformer, batch: Batch):
    """The oracle takes one pair after the other, without padding, and means over targets and over pronouns."""
    targets: list[Tensor] = []
    guided: list[Tensor] = []
    assert batch.antecedents is not None
    for source, target, expected, given in zip(*batch.inputs, batch.targets, batch.antecedents, strict=True):
        src, tgt = source[source != 0][None], target[target != 0][None]
        right = expected[expected != -1]
        loss = label_smoothed_cross_entropy(model(src, tgt), right[None], smoothing=0.1)
        targets += [loss] * len(right)  # the mean of one pair counts once for each of its targets
        pattern = patterns_by_hand(model, src, 1)[1]  # of the head [query, key]
        for query in range(len(pattern)):
            keys = given[query, : len(pattern)].nonzero().flatten().tolist()
            if keys:
                guided.append(-torch.stack([pattern[query, key].log() for key in keys]).mean())
    loss, guidance = torch.stack(targets).mean(), torch.stack(guided).mean()
    expected_gradients = torch.autograd.grad(loss + 0.5 * guidance, [*model.parameters()])

    for size, accumulate in ((1, 1), (1, 5), (2, 2), (3, 1)):
        config = replace(TrainingConfig(**TRAINING, **GUIDED), batch_size=9, accumulate=accumulate)
        actual, losses = [torch.zeros_like(parameter) for parameter in model.parameters()], torch.zeros(2)
        for rank in range(size):  # each process on its own; what they would send each other is the mean
            taken = Gradients(model, config, OneOfSome(rank=rank, size=size)).compute(batch)
            losses += torch.tensor(taken) / size
            for total, parameter in zip(actual, model.parameters(), strict=True):
                assert parameter.grad is not None
                total += parameter.grad / size
        assert losses.tolist() == pytest.approx([loss.item(), guidance.item()], rel=1e-5)
        for gradient, expected_gradient in zip(actual, expected_gradients, strict=True):
            torch.testing.assert_close(gradient, expected_gradient, rtol=1e-4, atol=1e-6)


def test_a_batch_without_pronouns_logs_no_guidance(model: Transformer, batch: Batch):
    assert batch.antecedents is not None
    nothing = batch._replace(antecedents=torch.zeros_like(batch.antecedents))
    plain, _ = Gradients(model, TrainingConfig(**TRAINING), ALONE).compute(nothing)
    expected = [parameter.grad for parameter in model.parameters()]
    for accumulate in (1, 2):
        actual = Gradients(model, TrainingConfig(**TRAINING, **GUIDED, accumulate=accumulate), ALONE).compute(nothing)
        assert actual[0] == pytest.approx(plain)
        assert actual[1] is None
        for parameter, gradient in zip(model.parameters(), expected, strict=True):
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)


class OneOfSome(Processes):
    """One of some processes whose parts are its own, and who sends nothing."""

    def wrap(self, model: torch.nn.Module) -> torch.nn.Module:
        return model

    def total(self, value: Tensor) -> Tensor:
        return value


def shares_by_loops(model: Transformer, tokenizer: OwnTokenizer, pairs: Sequence[Pair]) -> np.ndarray:
    """One source after the other, without padding."""
    n_right, n_pronouns = np.zeros((2, 2)), 0
    for pair in pairs:
        words = pair.source.split()
        nouns: dict[int, set[int]] = {}
        for pronoun, noun in pair.antecedents or ():
            nouns.setdefault(pronoun, set()).add(noun)
        assert [words[pronoun] for pronoun in nouns] == [word for word in words if len(word) > 1]
        source = torch.tensor([tokenizer.encode(pair.source, eos=True)])
        for pronoun, right in nouns.items():
            n_pronouns += 1
            for layer in range(2):
                pattern = patterns_by_hand(model, source, layer)[:, pronoun].detach().numpy()
                for head in range(2):
                    n_right[layer, head] += int(pattern[head].argmax()) in right
    return n_right / n_pronouns


def test_the_metric_is_that_of_a_naive_loop(model: Transformer, letters: Corpus, tokenizer: OwnTokenizer):
    model.eval()
    with torch.no_grad():
        expected = shares_by_loops(model, tokenizer, letters.held_out)
    assert len({*expected.flatten()}) > 1, "the heads must differ for this test to tell anything"
    shares = antecedent_shares(model, batches_of(letters.held_out, tokenizer, 4))
    assert shares is not None
    np.testing.assert_allclose(shares.numpy(), expected, rtol=1e-6)
    assert evaluate(model, tokenizer, letters, letters.held_out)["antecedent"] == pytest.approx(expected.max())
    actual = evaluate(model, tokenizer, letters, letters.held_out, guided=(0, 1))
    assert actual["antecedent"] == pytest.approx(expected[0, 1])
    without = [pair for pair in letters.held_out if not pair.antecedents]
    unknown = [Pair(pair.source, pair.target) for pair in letters.held_out]
    for pairs in (without, unknown):
        assert "antecedent" not in evaluate(model, tokenizer, letters, pairs)


def use_corpus(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let a run find the corpus above, with its own cache folder."""
    patch.setenv("HEADLIGHT_CACHE", str(folder / "cache"))
    patch.setattr("transformer_core.corpora.CORPORA", MappingProxyType({"referring": REFERRING}))


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Job]:
    """Begins a run on the corpus above."""
    use_corpus(monkeypatch, tmp_path)

    def begin(name: str, *, model: dict[str, Any] = MODEL, **training: Any) -> Job:
        settings = Settings(model={"max_seq_len": 8, "dropout": 0.1} | model, training=TRAINING | training)
        return beginning.begin(tmp_path / name, corpus_name="referring", preset="tiny", settings=settings)

    return begin


@pytest.mark.training
def test_a_guided_run_learns_where_to_look_and_goes_on_exactly(tmp_path: Path, begin: Callable[..., Job]):
    work(begin("whole", **GUIDED))
    work(begin("broken", **GUIDED), until=4)
    work(go_on(tmp_path / "broken"))
    whole, broken = logged(tmp_path / "whole"), logged(tmp_path / "broken")
    assert broken == whole
    guidance = [record.get("guidance") for record in whole if "loss" in record]
    assert None in guidance, "a batch without pronouns has none"
    assert len(guidance) == 9 and all(value > 0 for value in guidance if value is not None)

    work(begin("long", **(GUIDED | {"steps": 60, "warmup_steps": 10, "evaluate_every": 60, "batch_size": 15})))
    values = [record["guidance"] for record in logged(tmp_path / "long") if "guidance" in record]
    assert values[-1] < values[0] - 0.3  # with two right keys, half of each, it cannot fall below log 2


def test_a_head_or_a_corpus_that_cannot_be_guided_is_refused(tmp_path: Path, begin: Callable[..., Job]):
    for guided_head in ("encoder.2.0", "encoder.0.2"):
        text = rf"^guided_head \({guided_head}\) does not exist: .*layers 0 to 1, each with heads 0 to 1"
        with pytest.raises(ConfigError, match=text):
            begin("run", guided_head=guided_head)
    assert not (tmp_path / "run").exists()
    training, referring = TrainingConfig(**TRAINING, **GUIDED), REFERRING(seed=0)
    two = ModelConfig(vocab_size=20, **MODEL)
    one = replace(two, architecture="decoder_only", n_encoder_layers=0, tie_embeddings="target")
    for corpus, model in ((replace(referring, train=(Pair("a", "a"),), name="copy"), two), (referring, one)):
        with pytest.raises(ConfigError, match=f"^guided_head needs a corpus with annotated.* {corpus.name} has none"):
            check_guidance(training, model, corpus)
