"""The source run beside the text: the boards hold what the core compares, and refuse what they never sent."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.analysis.interventions.base import RunComparison, compare_with_source, read_base
from headlight.analysis.interventions.records import Component, InterventionStack, Patch
from headlight.analysis.interventions.stacks import to_json
from pages.investigate.interventions.components.source_run import Drop, sent_drop
from tests.pages.conftest import OpenApp, component

pytestmark = pytest.mark.usefixtures("three_kinds_here")
TEXT, OTHER = "The dog sees the cat.", "The big dog sees the cat."


def opened(open_app: OpenApp, **parameters: str) -> AppTest:
    app = open_app("interventions", **({"model": "en-fr", "text": TEXT, "view": "source", "add": "patch"} | parameters))
    assert not app.exception
    app.text_input(key="interventions-other-line").set_value(OTHER).run()
    assert not app.exception
    return app


def board_data(app: AppTest) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(component(app, "source_run").json)
    return payload


def compared(folder: Path, kind: Any = "head") -> RunComparison:
    loaded, tokenizer = tc.load(folder / "en-fr")
    return compare_with_source(loaded, tokenizer, read_base(loaded, tokenizer, TEXT), OTHER, kind=kind)


def test_the_boards_show_where_the_runs_differ(open_app: OpenApp, three_kinds: Path):
    text, expected = board_data(opened(open_app)), compared(three_kinds)
    encoder, decoder = text["boards"]
    assert (encoder["stack"], decoder["stack"]) == ("encoder", "decoder")
    big = 1  # the word that the other text has no counterpart for
    assert encoder["columnsHere"][big] is None and encoder["columnsHere"][big + 1] == big
    highest = max(float(np.nanmax(values)) for values in expected.differences.values())
    by_row = expected.differences["encoder"].reshape(-1, expected.differences["encoder"].shape[-1]) / highest
    np.testing.assert_allclose(encoder["there"]["values"], np.nan_to_num(by_row), atol=6e-4)
    both = [expected.differences[name] for name in ("decoder", "cross")]  # of a layer, one after the other
    by_row = np.concatenate([values[layer] for layer in range(len(both[0])) for values in both]) / highest
    np.testing.assert_allclose(decoder["there"]["values"], np.nan_to_num(by_row), atol=6e-4)
    assert len(decoder["there"]["rows"]) == len(set(decoder["there"]["rows"])) == len(by_row)
    app = opened(open_app, attention="cross", layer="1", head="1")
    app.segmented_control(key="interventions-drag-segments").set_value("cells").run()
    pattern = board_data(app)["boards"][0]
    assert pattern["isPattern"] and pattern["stack"] == "decoder"
    patterns = compared(three_kinds, "attention").patterns["cross"]
    np.testing.assert_allclose(pattern["there"]["values"], patterns[1, 1], atol=6e-4)


def test_only_what_can_be_dropped_is_taken(monkeypatch: pytest.MonkeyPatch):
    messages = iter([{"board": 0, "row": 1, "column": None}, {"board": -1, "row": 1, "column": 2}, [0, 1, 2]])
    monkeypatch.setattr("pages.investigate.interventions.components.source_run.sent", lambda *_: next(messages))
    assert [sent_drop("key") for _ in range(3)] == [Drop(board=0, row=1, column=None), None, None]


def test_what_the_stack_patches_is_filled(open_app: OpenApp):
    head = Component(kind="head", attention="encoder", layer=1, heads=(1,), positions=(2,))
    stack = InterventionStack(entries=(Patch(component=head, text=OTHER, direction="noising"),))
    encoder, decoder = board_data(opened(open_app, stack=to_json(stack)))["boards"]
    filled = {(row, place) for row, line in enumerate(encoder["here"]["values"]) for place, x in enumerate(line) if x}
    assert {(encoder["here"]["rows"][row], place) for row, place in filled} == {("L1.H1", 2)}
    assert not np.any(decoder["here"]["values"])
