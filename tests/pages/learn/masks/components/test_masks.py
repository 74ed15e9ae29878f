"""The component that edits a mask: what is sent to the browser, and what comes back from it."""

from typing import Any

import numpy as np
import pytest
import streamlit as st

from pages.learn.masks.components.masks import Arrays, OutputRow, Outputs, mask_matrix, sent_name, sent_turned
from tests.pages.learn.bare import Bare, unpacked


def arrays(rows: int = 2, columns: int = 3) -> Arrays:
    """Numbers that are all different."""
    numbers = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    preset = numbers % 2 == 0
    return Arrays(scores=numbers - 2, pattern=numbers / 10, before=numbers / 20, preset=preset, ran=~preset)


def given() -> dict[str, Any]:
    """What the component is given; a token looks like markup, one is written from right to left."""
    row = OutputRow(place=0, word="<b>", before=0.5, now=0.25, previous="<b>", says="c")
    return {
        "query_tokens": ["a", "<b>"],
        "key_tokens": ["x", "y", "שלום"],
        "n_real": (2, 2),
        "turned": [(0, 1), (1, 2)],
        "captions": dict.fromkeys(("mask", "scores", "pattern"), ("Title.", "what")),
        "hint": "hint",
        "of": "a text",
        "outputs": Outputs(rows=[row], words=[("own", "<i>", False)], counted="1 of 1", are_queries=True),
    }


def test_all_numbers_arrive_and_text_stays_text(bare: Bare):
    mask_matrix(arrays(), **given(), key="matrix", on_turned=lambda: None)
    header, rest = unpacked(bare.components["mask_matrix"]["data"])
    sent = arrays()
    floats = np.frombuffer(rest[: 4 * 18], dtype="<f4").reshape(3, 2, 3)
    cells = np.frombuffer(rest[4 * 18 :], dtype=np.uint8).reshape(2, 2, 3)
    np.testing.assert_array_equal(floats, [sent.scores, sent.pattern, sent.before])
    np.testing.assert_array_equal(cells, [sent.preset, sent.ran])
    assert header["turned"]["value"] == [1, 5] and header["real"] == {"query": 2, "key": 2}
    assert header["query"] == ["a", "<b>"] and header["key"][2] == "\u2068שלום\u2069"
    assert header["outputs"]["words"] == [{"name": "own", "text": "<i>", "isChanged": False}]


@pytest.mark.parametrize(
    ("sent", "taken"),
    [([5, 1, 5], [1, 5]), ([True], None), ([-1], None), ([64 * 64], None), ("1", None)],
)
def test_what_comes_from_the_browser_is_checked(monkeypatch: pytest.MonkeyPatch, sent: object, taken: object):
    monkeypatch.setattr(st, "session_state", {"matrix": {"turned": {"revision": 3, "value": sent}}})
    assert sent_turned("matrix") == taken
    monkeypatch.setattr(st, "session_state", {"matrix": {"turned": {"revision": 3, "value": [1] * (64 * 64 + 1)}}})
    assert sent_turned("matrix") is None


@pytest.mark.parametrize(("sent", "name"), [({"name": "own"}, "own"), ({"name": 3}, None), ("own", None), (None, None)])
def test_a_chosen_name_is_checked(monkeypatch: pytest.MonkeyPatch, sent: object, name: object):
    monkeypatch.setattr(st, "session_state", {"gallery": {"chosen": sent}})
    assert sent_name("gallery") == name


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(ValueError, match="2 query labels and 3 key labels, but an array of 2 by 2"):
        mask_matrix(arrays(2, 2), **given(), key="matrix", on_turned=lambda: None)
