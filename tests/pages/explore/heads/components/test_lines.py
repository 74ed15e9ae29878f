"""Lines from queries to keys: what is sent to the browser says the same as the patterns."""

from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from headlight.figures import TokenGrid
from tests.pages.conftest import packed_of


def causal_heads() -> dict[str, Any]:
    """Two heads of three tokens, each with more weight on the past; a token is written from right to left."""
    mask = np.tril(np.ones((3, 3), dtype=bool))
    uniform = mask / mask.sum(axis=1, keepdims=True)
    return {
        "patterns": [uniform, np.eye(3)],
        "masks": [mask, mask],
        "names": ["L0.H1", "L2.H0"],
    }


def tokens() -> TokenGrid:
    """The tokens of the heads; the last key is selected."""
    labels = ["The", "<b>", "שלום"]
    return TokenGrid(labels, labels, first_key=4, marked=(None, 6))


def show() -> None:
    """The page of these tests."""
    from pages.explore.heads.components.lines import attention_lines
    from tests.pages.explore.heads.components.test_lines import causal_heads, tokens

    attention_lines(tokens(), **causal_heads(), key="lines", on_cell=lambda: None)


def sent(app: AppTest) -> tuple[dict[str, Any], np.ndarray]:
    """The header, and the weights as the browser reads them."""
    header, weights = packed_of(app, "lines")
    return header, np.frombuffer(weights, dtype="<u2").reshape(2, 3, 3)


def test_weights_keep_their_digits_and_labels_are_sent_as_they_are():
    app = AppTest.from_function(show).run()
    assert not app.exception
    header, weights = sent(app)
    heads = causal_heads()
    for actual, pattern, mask in zip(weights, heads["patterns"], heads["masks"], strict=True):
        np.testing.assert_array_equal(actual == 65_535, ~mask)
        np.testing.assert_allclose(actual[mask] / 65_534, pattern[mask], atol=1e-5)
    assert header["query"] == header["key"] == ["The", "<b>", "\u2068שלום\u2069"]
    assert header["names"] == ["L0.H1", "L2.H0"] and len({*header["hues"]}) == 2
    assert header["chosen"]["value"] == {"query": None, "key": 2}
    assert header["first"] == {"query": 0, "key": 4}
