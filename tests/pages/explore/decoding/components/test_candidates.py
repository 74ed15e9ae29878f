"""Candidates: what is sent to the browser says the same as the scores, and what comes back is checked."""

import json
import math
import struct
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.components.sampling import NextTokenDistribution, distribution_payload, sent_sampling
from pages.explore.decoding.components.candidates import sent_token
from tests.pages.conftest import component
from transformer_core.decoding.settings import Sampling

HELD = Sampling(temperature=0.5, repetition_penalty=1.2, seed=7)


def distribution(n: int = 100, **changed: Any) -> NextTokenDistribution:
    """Scores that disagree with the log-probabilities on some tokens, as a repetition penalty makes them."""
    logits = np.random.default_rng(1).normal(0, 2, n).astype(np.float32)
    log_probs = logits - np.log(np.exp(logits.astype(np.float64)).sum())
    scores = logits.copy()
    scores[:n:3] -= 3
    logits[n // 2] = scores[n // 2] = log_probs[n // 2] = -np.inf
    given = {"scores": scores, "log_probs": log_probs.astype(np.float32), "entropy": 2.5, "next_token": 3}
    return NextTokenDistribution(**{"n_written": 2, "version": "12", "name": "after “once”", **given, **changed})


def label(token: int) -> str:
    return {0: "שלום", 1: "<b>"}.get(token, f"t{token}")


def payload(n: int = 100, **changed: Any) -> tuple[dict[str, Any], np.ndarray]:
    """Return the header of a distribution, and its scores as the browser reads them."""
    header, scores = distribution_payload(distribution(n, **changed), label, 40)
    return header, np.frombuffer(scores, dtype="<f4")


def show() -> None:
    """The page of these tests: a distribution, and the one after it."""
    from pages.explore.decoding.components.candidates import candidates
    from tests.pages.explore.decoding.components.test_candidates import HELD, distribution, label

    candidates(
        distribution(),
        nearby=[distribution(n_written=3, entropy=1.5)],
        label=label,
        sampling=HELD,
        key="candidates",
        on_token=lambda: None,
        on_sampling=lambda: None,
    )


def test_a_distribution_is_sent_with_those_nearby_and_the_settings_that_hold():
    app = AppTest.from_function(show).run()
    assert not app.exception
    data = component(app, "candidates").bytes
    (length,) = struct.unpack("<I", data[:4])
    header, scores = json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], dtype="<f4")
    expected, of_one = payload()
    assert header["distributions"] == [expected, expected | {"nWritten": 3, "entropy": 1.5}]
    np.testing.assert_array_equal(scores, [*of_one, *of_one])
    assert header["nTokens"] == 100
    assert header["sampling"]["value"] == {"temperature": 0.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0}


def test_all_scores_are_sent_and_the_rows_are_the_first_of_them():
    header, scores = payload()
    given = distribution()
    np.testing.assert_array_equal(scores, sorted(given.scores, reverse=True))
    assert (len(scores), scores[-1], header["n"]) == (100, -math.inf, 40)
    assert [row["place"] for row in header["rows"][:40]] == list(range(40))
    by_own = sorted(range(100), key=lambda token: -given.log_probs[token])
    for row in header["rows"]:
        assert given.scores[row["token"]] == scores[row["place"]]
        assert row["log_prob"] == pytest.approx(given.log_probs[row["token"]])
        assert by_own[row["rank"]] == row["token"]
    assert any(row["rank"] != row["place"] for row in header["rows"]), "the penalty changes the order"
    facts = {"nWritten": 2, "entropy": 2.5, "next": 3, "version": "12", "name": "after “once”"}
    assert header.items() >= facts.items()


def test_the_next_token_has_a_row_wherever_it_stands():
    order = np.argsort(-distribution().scores, kind="stable")
    for place, n_rows in ((90, 41), (39, 40), (40, 41)):
        header, scores = payload(next_token=int(order[place]))
        assert len(header["rows"]) == n_rows
        row = next(row for row in header["rows"] if row["token"] == order[place])
        assert row["place"] == place and scores[place] == distribution().scores[order[place]]


def test_a_small_vocabulary_has_fewer_rows_and_none_for_what_is_never_written():
    header, scores = payload(5)
    assert (len(scores), header["n"]) == (5, 4)
    labels = {row["token"]: row["label"] for row in header["rows"]}
    assert labels == {0: "\u2068שלום\u2069", 1: "<b>", 3: "t3", 4: "t4"}
    even = np.zeros(6, dtype=np.float32)
    header, _ = payload(scores=even, log_probs=even - math.log(6))
    assert [row["token"] for row in header["rows"]] == [5, 4, 3, 2, 1, 0], "of equal scores the higher token first"
    assert {row["rank"] for row in header["rows"]} == {0}


@pytest.mark.parametrize(
    ("sent", "token"),
    [
        ({"token": 4, "version": "12"}, 4),
        ({"token": 4, "version": "11"}, None),  # of a distribution before
        ({"token": -1, "version": "12"}, None),
        ({"token": True, "version": "12"}, None),
        ([4, "12"], None),
        (None, None),
    ],
)
def test_a_sent_token_is_checked(sent: object, token: int | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(st, "session_state", {"candidates": {"token": sent}})
    assert sent_token("candidates", version="12") == token


RIGHT = {"temperature": 1.5, "top_k": 40, "top_p": 0.9, "min_p": 0}


def chosen(settings: object, monkeypatch: pytest.MonkeyPatch) -> Sampling | None:
    """What is taken where the browser sends these settings."""
    monkeypatch.setattr(st, "session_state", {"candidates": {"sampling": {"revision": 1, "value": settings}}})
    return sent_sampling("candidates", HELD)


def test_sent_settings_take_the_place_of_those_that_hold(monkeypatch: pytest.MonkeyPatch):
    sampling = chosen(RIGHT, monkeypatch)
    kept: dict[str, Any] = {"repetition_penalty": HELD.repetition_penalty, "seed": HELD.seed}
    assert sampling == Sampling(temperature=1.5, top_k=40, top_p=0.9, min_p=0.0, **kept)
    assert type(sampling.min_p) is float
    large = chosen(RIGHT | {"top_k": 999_999, "temperature": 0}, monkeypatch)
    assert large is not None and (large.top_k, large.temperature) == (999_999, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"temperature": value} for value in (-0.1, math.nan, 10**400, "1", None)),
        *({"top_k": value} for value in (-1, 2.0, 1_000_000, True)),
        *({"top_p": 0}, {"top_p": 1.01}, {"min_p": -0.5}, {"min_p": 2}),
    ],
)
def test_settings_that_cannot_be_are_not_taken(wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    assert chosen(RIGHT | wrong, monkeypatch) is None


def test_what_does_not_fit_together_is_refused(monkeypatch: pytest.MonkeyPatch):
    no_settings: tuple[Any, ...] = (None, [], "greedy", {}, {"temperature": 1})
    assert all(chosen(sent, monkeypatch) is None for sent in no_settings)
    with pytest.raises(ValueError, match="100 scores and 99 log-probabilities"):
        payload(log_probs=distribution().log_probs[:99])
    for value, message in ((np.nan, "must be numbers"), (-np.inf, "one token at least")):
        none = np.full(4, value, dtype=np.float32)
        with pytest.raises(ValueError, match=message):
            payload(scores=none, log_probs=none)
