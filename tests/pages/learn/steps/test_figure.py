"""The figure that flows: which tokens and which place it is given, and how attention, layer and head are chosen."""

import json
import struct
from typing import Any

import numpy as np
import pytest

from pages.learn.steps import figure, number, step_texts, view_fields
from pages.learn.steps.view_fields import MatrixCell
from pages.shared.view import state
from tests.pages.learn.bare import Bare
from tests.pages.learn.steps.conftest import Look
from transformer_core.analysis import ATTENTIONS

TEXT = "The cat sleeps."
LONG = " ".join(["the cat sees the dog"] * 8)


def header_of(bare: Bare) -> dict[str, Any]:
    data = bare.components["steps"]["data"]
    (length,) = struct.unpack("<I", data[:4])
    return dict(json.loads(data[4 : 4 + length]))


def test_queries_and_keys_of_cross_attention_are_of_their_own_texts(bare: Bare, look: Look):
    data = look("en-fr", text=LONG, target="Le chat", attention="cross", layer=0, head=3, query=1, key=2, stage="mask")
    figure.draw(data)
    header = header_of(bare)
    source, target = data.model_run.source, data.model_run.target
    assert (header["nQueries"], header["nKeys"]) == (len(target), len(source))
    queries, keys = data.shown
    assert header["first"] == {"query": queries.start, "key": keys.start}
    plain = [token.replace("\u2068", "").replace("\u2069", "") for token in header["key"]]
    assert plain == [*source[keys.start : keys.stop]] and len(plain) == 24
    assert len(header["query"]) == len(target) and header["isSelf"] is False
    at = header["at"]["value"]
    assert (at["stage"], at["query"], at["key"], at["cell"]) == ("mask", 1, 2, None)
    assert (header["head"], header["nHeads"], header["dHead"]) == (3, 4, 32)


def test_self_attention_says_so_and_marks_the_open_cell(bare: Bare, look: Look):
    cell = MatrixCell("scaled", 1, 2)
    data = look("en-fr", text=TEXT, attention="encoder", layer=0, head=0, query=1, cell=cell)
    figure.draw(data)
    header = header_of(bare)
    assert header["isSelf"] is True and header["at"]["value"]["cell"] == ["scaled", 1, 2]
    assert header["at"]["value"]["key"] == 2, "the key of the open number"
    assert next(stage["name"] for stage in header["stages"]) == "input"


@pytest.mark.parametrize(("most", "is_folded"), [(3, True), (4, False)])
def test_many_heads_are_folded_up(bare: Bare, look: Look, monkeypatch: pytest.MonkeyPatch, most: int, is_folded: bool):
    monkeypatch.setattr(figure, "MOST_BESIDE", most)
    figure.controls(look("en-fr", text=TEXT, attention="cross", layer=1, head=2))
    key = state.HEAD.key + ("-box" if is_folded else "-segments")
    assert bare.widgets[key].options == [0, 1, 2, 3] and bare.session[key] == 2
    assert bare.widgets[state.LAYER.key + "-segments"].options == [0, 1]
    attention = bare.widgets[state.ATTENTION.key + "-segments"]
    assert attention.options == ["encoder", "decoder", "cross"]
    assert attention.names == [ATTENTIONS[name].title for name in attention.options]
    assert "Attention</span>" not in bare.words and "Layer</span>" in bare.words and "Head</span>" in bare.words


def test_a_model_with_one_attention_has_no_choice_of_it(bare: Bare, look: Look):
    figure.controls(look("fill-in", text=TEXT))
    assert state.ATTENTION.key + "-segments" not in bare.widgets
    assert bare.widgets[state.LAYER.key + "-segments"].options == [0, 1, 2, 3]


def test_a_number_is_shown_where_one_is_open_and_can_be_closed(bare: Bare, look: Look):
    number.show(look("en-fr", text=TEXT))
    assert "Click any number in the figure" in bare.words and not bare.buttons
    data = look("en-fr", text=TEXT, attention="encoder", layer=0, head=1, query=1, cell=MatrixCell("pattern", 1, 2))
    number.show(data)
    assert data.number is not None
    assert data.number.value == pytest.approx(float(data.walk.quantities["pattern"].values[1, 2]))
    button = bare.buttons["steps-close"]
    button["on_click"](*button["args"])
    assert view_fields.CELL.value is None


def test_every_stage_has_a_title_and_every_title_a_sentence():
    """A stage's sentence may depend on the model; then the name of its sentence begins with the stage's."""
    for name in step_texts.TITLES:
        assert any(notice == name or notice.startswith(f"{name} ") for notice in step_texts.NOTICES)


def test_what_is_shown_of_quantities_are_the_rows_and_columns_of_the_shown_tokens(bare: Bare, look: Look):
    data = look("en-fr", text=LONG, attention="encoder", layer=0, head=0, query=30)
    queries, keys = data.shown
    whole = data.walk.quantities["pattern"].values
    shown = next(one for one in data.quantities if one.name == "pattern").values
    np.testing.assert_array_equal(shown, whole[queries.start : queries.stop, keys.start : keys.stop])
    assert 30 in queries and len(queries) == 24 and not bare.texts
