"""Candidates: what is sent to the browser says the same as the scores, and what comes back is checked."""

import json
import math
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.components import sampling as sampling_settings
from pages.explore.decoding.components import candidates as bars
from tests.pages.conftest import component
from transformer_core.decoding.settings import Sampling

HELD = Sampling(temperature=0.5, repetition_penalty=1.2, seed=7)


def given(*, n: int = 100, **changed: Any) -> dict[str, Any]:
    """Scores that disagree with the log-probabilities on some tokens, as a repetition penalty makes them."""
    logits = np.random.default_rng(1).normal(0, 2, n).astype(np.float32)
    log_probs = logits - np.log(np.exp(logits.astype(np.float64)).sum())
    scores = logits.copy()
    scores[:n:3] -= 3
    logits[n // 2] = scores[n // 2] = log_probs[n // 2] = -np.inf
    return {
        "scores": scores,
        "log_probs": log_probs.astype(np.float32),
        "entropy": 2.5,
        "label": lambda token: {0: "שלום", 1: "<b>"}.get(token, f"t{token}"),
        "sampling": HELD,
        "next_token": 3,
        "version": "12",
        "key": "candidates",
        "on_token": lambda: None,
        "on_sampling": lambda: None,
    } | changed


def parts(given: dict[str, Any]) -> tuple[sampling_settings.NextTokenDistribution, dict[str, Any]]:
    """The distribution, and the rest."""
    of_step = {name: given[name] for name in ("scores", "log_probs", "entropy", "next_token", "version")}
    rest = {name: value for name, value in given.items() if name not in {*of_step, "name"}}
    return sampling_settings.NextTokenDistribution(n_written=2, name=given.get("name", ""), **of_step), rest


def draw(**changed: Any) -> None:
    """Draw the component, and the same distribution again as one nearby."""
    distribution, rest = parts(given(**changed))
    bars.candidates(distribution, nearby=[replace(distribution, n_written=3, entropy=1.5)], **rest)


def show() -> None:
    """The page of these tests."""
    import streamlit as st

    from pages.components import sampling as sampling_settings
    from pages.explore.decoding.components import candidates as bars
    from tests.pages.explore.decoding.components.test_candidates import HELD, draw

    draw(**st.session_state["given"])
    st.session_state["token"] = bars.sent_token("candidates", version="12")
    st.session_state["sampling"] = sampling_settings.sent_sampling("candidates", HELD)


def chosen(settings: object) -> dict[str, Any]:
    """What the browser sends where a person chose settings."""
    return {"sampling": {"revision": 1, "value": settings}}


def run(sent: dict[str, Any] | None = None, **changed: Any) -> AppTest:
    """Run the page, with what the browser sent for this run."""
    app = AppTest.from_function(show)
    app.session_state["given"] = changed
    if sent is not None:
        app.session_state["candidates"] = sent
    app.run()
    assert not app.exception
    return app


def data_of(app: AppTest) -> tuple[dict[str, Any], np.ndarray]:
    """What is said of the distribution and of all, and its scores as the browser reads them."""
    data = component(app, "candidates").bytes
    (length,) = struct.unpack("<I", data[:4])
    header, scores = json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], dtype="<f4")
    shown, nearby = header.pop("distributions")
    assert nearby == shown | {"nWritten": 3, "entropy": 1.5}
    np.testing.assert_array_equal(scores[: header["nTokens"]], scores[header["nTokens"] :])
    return header | shown, scores[: header["nTokens"]]


def test_all_scores_are_sent_and_the_rows_are_the_first_of_them():
    header, scores = data_of(run())
    wanted = given()
    np.testing.assert_array_equal(scores, sorted(wanted["scores"], reverse=True))
    assert (len(scores), scores[-1], header["n"]) == (100, -math.inf, 40)
    assert [row["place"] for row in header["rows"][:40]] == list(range(40))
    by_own = sorted(range(100), key=lambda token: -wanted["log_probs"][token])
    for row in header["rows"]:
        assert wanted["scores"][row["token"]] == scores[row["place"]]
        assert row["log_prob"] == pytest.approx(wanted["log_probs"][row["token"]])
        assert by_own[row["rank"]] == row["token"]
    assert any(row["rank"] != row["place"] for row in header["rows"])  # the penalty has put them into another order


def test_the_header_says_what_holds():
    header, _ = data_of(run(name="after “once”", height=400))
    assert header["sampling"]["value"] == {"temperature": 0.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    assert (header["entropy"], header["next"], header["version"]) == (2.5, 3, "12")
    assert (header["name"], header["height"]) == ("after “once”", 400)


def test_the_next_token_has_a_row_wherever_it_stands():
    order = np.argsort(-given()["scores"], kind="stable")
    last = int(order[90])
    header, scores = data_of(run(next_token=last))
    assert len(header["rows"]) == 41
    assert (header["rows"][-1]["token"], header["rows"][-1]["place"]) == (last, 90)
    assert scores[90] == given()["scores"][last]
    header, _ = data_of(run(next_token=int(order[5])))
    assert len(header["rows"]) == 40
    header, _ = data_of(run(next_token=None))
    assert (len(header["rows"]), header["next"]) == (40, None)


def test_a_small_vocabulary_has_fewer_rows_and_none_for_what_is_never_written():
    header, scores = data_of(run(n=5))
    assert (len(scores), header["n"]) == (5, 4)
    assert {row["token"] for row in header["rows"]} == {0, 1, 3, 4}
    labels = {row["token"]: row["label"] for row in header["rows"]}
    assert (labels[0], labels[1]) == ("\u2068שלום\u2069", "<b>")


def test_of_equal_scores_the_higher_token_comes_first():
    even = np.zeros(6, dtype=np.float32)
    header, _ = data_of(run(scores=even, log_probs=even - math.log(6)))
    assert [row["token"] for row in header["rows"]] == [5, 4, 3, 2, 1, 0]
    assert {row["rank"] for row in header["rows"]} == {0}


@pytest.mark.parametrize(
    ("sent", "token"),
    [
        ({"token": 4, "version": "12"}, 4),
        ({"token": 0, "version": "12"}, 0),
        ({"token": 4, "version": "11"}, None),  # of a distribution before
        ({"token": 4}, None),
        ({"token": -1, "version": "12"}, None),
        ({"token": 4.0, "version": "12"}, None),
        ({"token": True, "version": "12"}, None),
        ({"token": "4", "version": "12"}, None),
        ([4, "12"], None),
        (None, None),
    ],
)
def test_a_sent_token_is_checked(sent: object, token: int | None):
    assert run({"token": sent}).session_state["token"] == token


RIGHT = {"temperature": 1.5, "top_k": 40, "top_p": 0.9, "min_p": 0}


def test_sent_settings_take_the_place_of_those_that_hold():
    sampling = run(chosen(RIGHT)).session_state["sampling"]
    assert sampling == Sampling(
        temperature=1.5, top_k=40, top_p=0.9, min_p=0.0, repetition_penalty=HELD.repetition_penalty, seed=HELD.seed
    )
    assert type(sampling.min_p) is float
    large = run(chosen(RIGHT | {"top_k": 999_999, "temperature": 0})).session_state["sampling"]
    assert (large.top_k, large.temperature) == (999_999, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"temperature": 10**400},
        {"temperature": "1"},
        {"temperature": None},
        {"top_k": -1},
        {"top_k": 2.0},
        {"top_k": 1_000_000},
        {"top_k": True},
        {"top_p": 0},
        {"top_p": 1.01},
        {"min_p": -0.5},
        {"min_p": 2},
    ],
)
def test_settings_that_cannot_be_are_not_taken(wrong: dict[str, Any]):
    assert run(chosen(RIGHT | wrong)).session_state["sampling"] is None


@pytest.mark.parametrize("sent", [None, [], "greedy", {}, {"temperature": 1}])
def test_what_are_no_settings_is_not_taken(sent: object):
    assert run(chosen(sent)).session_state["sampling"] is None


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(ValueError, match="100 scores and 99 log-probabilities"):
        draw(log_probs=given()["log_probs"][:99])
    broken = np.full(4, np.nan, dtype=np.float32)
    with pytest.raises(ValueError, match="must be numbers"):
        draw(scores=broken, log_probs=broken)
    nothing = np.full(4, -np.inf, dtype=np.float32)
    with pytest.raises(ValueError, match="one token at least"):
        draw(scores=nothing, log_probs=nothing)
