"""The next-token distribution as the browser gets it and filters it, as next_log_probs does, and its settings."""

import base64
import itertools
import json
import math
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import streamlit as st
import torch

from pages.components.sampling import NextTokenDistribution, distribution_payload, sent_sampling
from tests.conftest import ROOT
from transformer_core.decoding.sampling import next_log_probs
from transformer_core.decoding.settings import Sampling

ARITHMETIC = ROOT / "pages/components/sampling/sampling.js"
NAMES = ("temperature", "top_k", "top_p", "min_p")
N = 300  # tokens of the vocabulary
KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "ordinary": lambda rng, n: rng.normal(0, 3, n),
    "flat": lambda rng, n: rng.normal(0, 0.2, n),
    "ties": lambda rng, n: rng.normal(0, 2, n).round(),
    "even": lambda rng, n: np.zeros(n),
    "some never written": lambda rng, n: np.where(rng.random(n) < 0.3, -np.inf, rng.normal(0, 3, n)),
    "one alone": lambda rng, n: np.where(np.arange(n) == n // 3, 1.5, -np.inf),
}
GRID = list(itertools.product((0, 0.05, 0.7, 1, 2), (0, 1, 7, 5 * N), (1, 0.913, 0.011), (0, 0.05, 1)))
SETTINGS = [Sampling(temperature=t, top_k=k, top_p=p, min_p=m) for t, k, p, m in GRID]
SCRIPT = f"""
import {{ readFileSync }} from "node:fs";
import {{ leave, shareOf }} from {json.dumps(ARITHMETIC.as_uri())};

const answers = JSON.parse(readFileSync(0, "utf-8")).map(([scores, settings]) => {{
  const ordered = new Float32Array(Uint8Array.from(Buffer.from(scores, "base64")).buffer);
  return settings.map((sampling) => {{
    const left = leave(ordered, sampling);
    const shares = Float64Array.from(ordered, (_, place) => shareOf(left, place));
    const {{ first, end, entropy, held }} = left;
    return {{ first, end, entropy, held, shares: Buffer.from(shares.buffer).toString("base64") }};
  }});
}});
process.stdout.write(JSON.stringify(answers));
"""


def logits_of(kind: str) -> torch.Tensor:
    return torch.from_numpy(KINDS[kind](np.random.default_rng(3), N).astype(np.float32))


@pytest.fixture(scope="module")
def reckoned() -> Mapping[str, list[dict[str, Any]]]:
    """For each kind of logits, and each setting: probabilities by token, and the rest that is known of them."""
    node = shutil.which("node", path=str(ROOT / ".venv" / "bin")) or shutil.which("node")
    assert node is not None
    request, orders = [], {}
    for kind in KINDS:
        logits = logits_of(kind).numpy()
        orders[kind] = np.argsort(logits, kind="stable")[::-1]
        scores = base64.b64encode(logits[orders[kind]].tobytes()).decode()
        request.append([scores, [{name: getattr(sampling, name) for name in NAMES} for sampling in SETTINGS]])
    command = [node, "--input-type=module", "--eval", SCRIPT]
    ran = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    answers = dict(zip(orders, json.loads(ran.stdout), strict=True))
    for kind, answer in answers.items():
        for actual in answer:
            shares = np.frombuffer(base64.b64decode(actual["shares"]))
            actual["by_token"] = np.empty_like(shares)
            actual["by_token"][orders[kind]] = shares
    return answers


@pytest.mark.parametrize("kind", KINDS)
def test_the_browser_leaves_what_next_log_probs_leaves(reckoned: Mapping[str, list[dict[str, Any]]], kind: str):
    logits = logits_of(kind)
    for sampling, actual in zip(SETTINGS, reckoned[kind], strict=True):
        wanted = next_log_probs(logits, (), sampling)
        probs = wanted.double().exp().numpy()
        assert actual["end"] - actual["first"] == int(wanted.isfinite().sum()), sampling
        np.testing.assert_array_equal(actual["by_token"] > 0, probs > 0, err_msg=str(sampling))
        np.testing.assert_allclose(actual["by_token"], probs, rtol=2e-4, atol=1e-30, err_msg=str(sampling))
        some = probs[probs > 0]
        assert actual["entropy"] == pytest.approx(-float((some * np.log(some)).sum()), abs=1e-4), sampling
        without_filters = next_log_probs(logits, (), Sampling(temperature=sampling.temperature)).double().exp()
        assert actual["held"] == pytest.approx(float(without_filters[wanted.isfinite()].sum()), abs=1e-5), sampling


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
