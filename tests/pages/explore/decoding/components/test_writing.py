"""The writing of a text: what is sent to the browser says what is known of it, and what comes back is checked."""

import json
import struct
from typing import Any

import numpy as np
import pytest
import streamlit as st
from plotly.colors import hex_to_rgb
from streamlit.testing.v1 import AppTest

from headlight.figures import DARK, LIGHT, sequential_scale
from pages.explore.decoding.components.writing import Token, sent_at, writing
from tests.pages.conftest import component
from tests.test_config import contrast


def three_tokens() -> dict[str, Any]:
    """A given, a written and a forced token; the forced one could not have been written."""
    return {
        "source": ["The", "<b>", "שלום"],
        "output": [
            Token(label="<bos>", kind="given"),
            Token(label="il", log_prob=-0.25, rank=0, entropy=0.75, alternatives=(("il", 0.7788), ("elle", 0.125))),
            Token(label="elle", kind="forced", log_prob=-np.inf, rank=11, entropy=0.0, alternatives=(("שלום", 1.0),)),
        ],
        "n_given": 1,
        "at": 1,
        "looked": {1: (np.array([0.5, 0.25, 0.25]), np.array([0.125, 0.875], dtype=np.float32))},
        "aims": ("cross-attention L1.H3", "decoder self-attention L1.H3"),
        "ended": None,
        "key": "writing",
        "on_at": lambda: None,
    }


def show() -> None:
    """The page of these tests: also where the model looked one step earlier."""
    from pages.explore.decoding.components.writing import writing
    from tests.pages.explore.decoding.components.test_writing import three_tokens

    given = three_tokens()
    source, output = given["looked"][1]
    writing(**given | {"looked": {0: (source[::-1], output[:1]), 1: (source, output)}})


def sent(app: AppTest) -> tuple[dict[str, Any], np.ndarray]:
    """The header, and the numbers as the browser reads them."""
    assert not app.exception
    data = component(app, "writing").bytes
    (length,) = struct.unpack("<I", data[:4])
    return json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], dtype="<f4")


def test_each_token_is_a_row_and_the_weights_of_this_step_and_of_others_follow():
    header, numbers = sent(AppTest.from_function(show).run())
    rows = numbers[: 3 * 9].reshape(3, 9)  # label, kind, three facts, and two alternatives
    labels = [*header["labels"], None]
    assert [labels[int(label)] for label in rows[:, 0]] == ["<bos>", "il", "elle"]
    assert [header["kinds"][int(kind)] for kind in rows[:, 1]] == ["given", "written", "forced"]
    np.testing.assert_array_equal(rows[:, 2], [np.nan, -0.25, -np.inf])
    np.testing.assert_array_equal(rows[:, 3], [np.nan, 0, 11])
    np.testing.assert_array_equal(rows[:, 4], [np.nan, 0.75, 0])
    others = [[labels[-1 if np.isnan(place) else int(place)] for place in row] for row in rows[:, 5:7]]
    assert others == [[None, None], ["il", "elle"], ["\u2068שלום\u2069", None]]
    np.testing.assert_allclose(rows[:, 7:], [[np.nan, np.nan], [0.7788, 0.125], [1, np.nan]])
    assert len(header["labels"]) == len({*header["labels"]}) == 4
    np.testing.assert_array_equal(numbers[3 * 9 :], [0.5, 0.25, 0.25, 0.125, 0.875, 0.25, 0.25, 0.5, 0.125])
    assert header["steps"] == [{"n": 1, "source": 3, "output": 2}, {"n": 0, "source": 3, "output": 1}]
    assert (header["nGiven"], header["at"]["value"], header["nOutput"]) == (1, 1, 3)
    assert header["source"] == ["The", "<b>", "\u2068שלום\u2069"]
    assert header["ended"] is None


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_chip_can_be_read_and_has_the_color_of_the_scale(theme):
    header, _ = sent(AppTest.from_function(show).run())
    shades = header["shades"][theme.name]
    assert all(contrast(ground, ink) >= 4.5 for ground, ink in shades)
    values, colors = zip(*sequential_scale(theme), strict=True)
    for place, (ground, _) in enumerate(shades):
        at = place / (len(shades) - 1)
        channels = zip(*map(hex_to_rgb, colors), strict=True)
        expected = [np.interp(at, values, channel) for channel in channels]
        np.testing.assert_allclose(hex_to_rgb(ground), expected, atol=0.51)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_given": 0}, "3 tokens, 0 of them given and 1 written"),
        ({"at": 3}, "3 tokens, 1 of them given and 3 written"),
        ({"looked": {1: (np.ones(2), None)}}, r"3 tokens of the source to look at, but weights of shape \(2,\)"),
        ({"looked": {1: (None, np.ones(3))}}, r"2 tokens of the output to look at, but weights of shape \(3,\)"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        writing(**three_tokens() | changes)


@pytest.mark.parametrize(
    ("value", "at"),
    [(7, 7), (0, 0), (10**9, 10**9), (-1, None), (True, None), (1.5, None), ("3", None), (None, None), ([3], None)],
)
def test_what_comes_from_the_browser_is_checked(monkeypatch, value, at):
    monkeypatch.setattr(st, "session_state", {"writing": {"at": {"revision": 2, "value": value}}})
    assert sent_at("writing") == at
    assert sent_at("another") is None
