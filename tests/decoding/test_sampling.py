"""Sampling: the filters are those of transformers, and the draws are fair, repeatable and each for itself."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]
from torch import Tensor

from transformer_core.decoding.sampling import draw, next_log_probs
from transformer_core.decoding.settings import GREEDY, Sampling
from transformer_core.errors import ConfigError


def random_logits(seed: int, vocab_size: int = 40) -> Tensor:
    return torch.randn(vocab_size, generator=torch.Generator().manual_seed(seed)) * 3


def by_transformers(logits: Tensor, before: list[int], sampling: Sampling) -> Tensor:
    """What `generate` draws from: its processors and warpers in its order."""
    process = pytest.importorskip("transformers.generation.logits_process")
    steps: list[Any] = []
    if sampling.repetition_penalty != 1:
        steps.append(process.RepetitionPenaltyLogitsProcessor(float(sampling.repetition_penalty)))
    steps.append(process.TemperatureLogitsWarper(float(sampling.temperature)))
    if sampling.top_k:
        steps.append(process.TopKLogitsWarper(sampling.top_k))
    steps += [process.TopPLogitsWarper(sampling.top_p)] if sampling.top_p < 1 else []
    steps += [process.MinPLogitsWarper(sampling.min_p)] if sampling.min_p else []
    scores = logits[None]
    for step in steps:
        scores = step(torch.tensor([before]), scores)
    return scores[0].log_softmax(dim=-1)


samplings = st.builds(
    Sampling,
    repetition_penalty=st.sampled_from([1.0, 0.7, 1.3, 5.0]),
    temperature=st.sampled_from([0.1, 0.7, 1.0, 2.5]),
    top_k=st.sampled_from([0, 1, 5, 40, 1000]),
    top_p=st.sampled_from([1.0, 0.95, 0.6, 0.05, 1e-6]),
    min_p=st.sampled_from([0.0, 0.01, 0.3, 1.0]),
)


@given(st.integers(0, 10**6), st.lists(st.integers(0, 39), min_size=1, max_size=9), samplings)
def test_filters_are_those_of_transformers(seed: int, before: list[int], sampling: Sampling):
    logits = random_logits(seed)
    logits[seed % 40] = -math.inf  # padding
    ours, theirs = next_log_probs(logits, before, sampling), by_transformers(logits, before, sampling)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    assert float(ours.exp().sum()) == pytest.approx(1, abs=1e-5)


@given(
    st.lists(st.sampled_from([-math.inf, -2.0, 0.0, 1.0, 2.0]), min_size=1, max_size=8).filter(
        lambda logits: max(logits) > -math.inf
    ),
    samplings,
)
def test_with_ties_as_many_stay_as_in_transformers(logits: list[float], sampling: Sampling):
    """Which of several equal tokens the nucleus drops is left open there; here it is the same every time."""
    actual = [
        next_log_probs(torch.tensor(logits), [0], sampling),
        next_log_probs(torch.tensor(logits), [0], sampling),
        by_transformers(torch.tensor(logits), [0], sampling),
    ]
    assert torch.equal(actual[0], actual[1])
    torch.testing.assert_close(actual[0].sort().values, actual[2].sort().values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [2, 4, 8])
def test_a_filter_keeps_what_just_reaches_it(n: int):
    """Of equal tokens, whose shares are exact: k of n have k / n, and each has as much as the most probable one."""
    logits = torch.zeros(n)
    for k in range(1, n):
        for top_p, n_kept in ((k / n, k), (k / n + 1e-6, k + 1)):
            actual = next_log_probs(logits, [], Sampling(top_p=top_p)).exp()
            assert sorted(actual.tolist()) == [0.0] * (n - n_kept) + [pytest.approx(1 / n_kept)] * n_kept
    for sampling in (Sampling(min_p=1.0), Sampling(top_k=n), Sampling(top_k=1)):  # those as good as the last one stay
        assert next_log_probs(logits, [], sampling).exp().tolist() == pytest.approx([1 / n] * n)


@given(st.integers(0, 10**6))
def test_temperature_0_has_one_token(seed: int):
    logits = random_logits(seed)
    for sampling in (GREEDY, Sampling(temperature=0, top_k=3, top_p=0.2, min_p=0.5)):
        actual = next_log_probs(logits, [], sampling)
        assert actual.exp().tolist() == [float(token == int(logits.argmax())) for token in range(40)]
    penalized = next_log_probs(torch.tensor([3.0, 2.9, 0.0]), [0], Sampling(temperature=0, repetition_penalty=1.5))
    assert penalized.argmax() == 1


def test_the_logits_stay_as_they_are():
    logits = random_logits(0)
    before = logits.clone()
    next_log_probs(logits, [1, 2], Sampling(repetition_penalty=2, temperature=0.5, top_k=9, top_p=0.9, min_p=0.1))
    assert torch.equal(logits, before)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("temperature", value) for value in (-1, 1e-9, 1e9, math.nan, math.inf)),
        *(("repetition_penalty", value) for value in (0, -1, 1e-9, 1e9, math.nan)),
        *(("top_p", value) for value in (0, 1.1, math.nan)),
        *(("min_p", value) for value in (-0.1, 1.1, math.nan)),
        ("top_k", -1),
    ],
)
def test_a_number_out_of_its_range(name: str, value: Any):
    with pytest.raises(ConfigError, match=rf"^{name} \(.*\) must be "):
        Sampling(**{name: value})


def test_draws_follow_the_probabilities():
    log_probs = torch.tensor([0.05, 0.4, 0.0, 0.3, 0.25]).log()
    counts = [0] * 5
    for position in range(4000):
        counts[draw(log_probs, seed=7, position=position)] += 1
    assert counts[2] == 0
    assert stats.chisquare([counts[i] for i in (0, 1, 3, 4)], [200, 1600, 1200, 1000]).pvalue > 0.001


@given(st.integers(0, 99), st.integers(0, 99))
def test_a_draw_is_a_place_on_the_line_of_tokens(seed: int, position: int):
    """Of a thousand equal tokens the one drawn says where on the line the place lies; others are checked with it."""
    place = (draw(torch.zeros(1000).log_softmax(0), seed=seed, position=position) + 0.5) / 1000
    probs = [0.1, 0.6, 0.3]
    expected = 1 if place < 0.6 else 2 if place < 0.9 else 0  # the most probable first
    if min(abs(place - edge) for edge in (0.6, 0.9)) > 0.001:
        assert draw(torch.tensor(probs).log(), seed=seed, position=position) == expected


def test_draws_do_not_depend_on_each_other():
    log_probs = random_logits(1).log_softmax(dim=-1)
    forwards = [draw(log_probs, seed=3, position=position) for position in range(30)]
    torch.manual_seed(99)
    backwards = [draw(log_probs, seed=3, position=position) for position in reversed(range(30))]
    assert forwards == backwards[::-1]
    assert len(set(forwards)) > 3
    assert forwards != [draw(log_probs, seed=4, position=position) for position in range(30)]


def test_each_filter_by_hand():
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    cases: dict[tuple[float, ...], Sampling] = {
        (0.4, 0.3, 0.2, 0.1): Sampling(),
        (4 / 7, 3 / 7, 0, 0): Sampling(top_k=2),
        (4 / 9, 3 / 9, 2 / 9, 0): Sampling(top_p=0.8),  # 0.4 + 0.3 do not reach it
        (1, 0, 0, 0): Sampling(top_p=0.4 - 1e-6),
        (16 / 30, 9 / 30, 4 / 30, 1 / 30): Sampling(temperature=0.5),
        (4 / 9, 3 / 9, 2 / 9, 0.0): Sampling(min_p=0.3),  # 0.1 is a quarter of 0.4
    }
    for expected, sampling in cases.items():
        assert next_log_probs(logits, [], sampling).exp().tolist() == pytest.approx(expected, abs=1e-6), sampling


def test_what_was_there_is_less_probable_whatever_its_sign():
    logits = torch.tensor([2.0, -2.0, 0.5])
    actual = next_log_probs(logits, [0, 1, 1], Sampling(repetition_penalty=2))
    torch.testing.assert_close(actual, torch.tensor([1.0, -4.0, 0.5]).log_softmax(dim=0))
