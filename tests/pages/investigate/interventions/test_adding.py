"""What is filled in becomes an intervention, one cell or several edited together, against plain forward passes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from headlight.analysis.interventions.records import Ablation, CellEdit, Component, InterventionStack, Patch, StackEntry
from tests.pages.conftest import OpenApp, figures_of, words_of
from tests.pages.investigate.interventions.test_page import (
    HEAD,
    changes,
    expected,
    opened,
    press,
    stack_of,
)

pytestmark = pytest.mark.usefixtures("three_kinds_here")
NAMES = ("en-fr-interventions-pattern-before", "en-fr-interventions-pattern")


def group_opened(open_app: OpenApp) -> AppTest:
    app = opened(open_app, add="cells", attention="encoder", layer="0", head="1")
    return app.segmented_control(key="interventions-scope-segments").set_value("group").run()


def add_cell(app: AppTest, query: int, key: int) -> AppTest:
    app.selectbox(key="interventions-query-box").set_value(query).run()
    app.selectbox(key="interventions-cell-key-box").set_value(key).run()
    return press(app, "interventions-add-cell")


def framed(app: AppTest) -> list[list[tuple[int, int]]]:
    """The cells that have a frame, in each pattern that is drawn: the unchanged one alone where nothing is changed."""
    figures = figures_of(app)
    return [
        [
            (round(shape["y0"] + 0.5), round(shape["x0"] + 0.5))
            for shape in figures[name]["layout"].get("shapes", [])
            if shape["type"] == "rect"
        ]
        for name in NAMES
        if name in figures
    ]


def test_a_group_of_cells_is_edited_at_once_and_then_empty(open_app: OpenApp, three_kinds: Path):
    app = group_opened(open_app)
    for query, key in ((2, 1), (3, 0), (4, 4)):
        app = add_cell(app, query, key)
    assert app.button(key="interventions-add-cell").disabled  # it is in the group
    assert framed(app) == [[(2, 1), (3, 0), (4, 4)]]
    app.multiselect(key="interventions-group-box").set_value([(2, 1), (4, 4)]).run()
    assert framed(app) == [[(2, 1), (4, 4)]]
    app.segmented_control(key="interventions-operation-segments").set_value("knock_out").run()
    app = press(app, "interventions-add-it")
    edit = CellEdit(attention="encoder", layer=0, heads=(1,), cells=((2, 1), (4, 4)), operation="knock_out")
    assert stack_of(app).entries == (edit,)
    assert framed(app) == [[], []] and not app.multiselect(key="interventions-group-box").value

    result = expected(three_kinds, InterventionStack(entries=(edit,)))
    np.testing.assert_allclose(changes(app), result.logit_differences[1] - result.logit_differences[0], atol=1e-5)
    assert framed(add_cell(app, 2, 1)) == [[(2, 1)]] * 2


def test_cells_that_a_shorter_text_lacks_are_left_out(open_app: OpenApp):
    app = press(group_opened(open_app), "interventions-add-it")
    assert app.warning[0].value.startswith("The group has no cell yet") and not stack_of(app).entries
    app = add_cell(add_cell(app, 5, 5), 1, 1)
    app.session_state["text"] = "The cat."
    app.run()
    app = press(app, "interventions-add-it")
    (entry,) = stack_of(app).entries
    assert isinstance(entry, CellEdit) and entry.cells == ((1, 1),)


CELLS = {"add": "cells", "attention": "encoder", "layer": "1", "head": "2", "cell": "3.0"}
OTHER = "The dog didn't sleep."
ADDED: list[tuple[dict[str, str], list[tuple[str, str, Any]], StackEntry]] = [
    (
        {"add": "patch"},
        [
            *(("text_input", "other-line", OTHER), ("multiselect", "positions-box", [1, 2])),
            ("text_input", "name-box", " the <b>subject</b> "),
        ],
        Patch(component=replace(HEAD, positions=(1, 2)), text=OTHER, direction="denoising", name="the <b>subject</b>"),
    ),
    (
        {"add": "ablate", "attention": "encoder"},
        [
            *(("selectbox", "kind-box", "resid_post"), ("multiselect", "positions-box", [2, 5])),
            ("text_input", "other-line", OTHER),
        ],
        Ablation(
            component=Component(kind="resid_post", attention="encoder", layer=1, positions=(2, 5)), texts=(OTHER,)
        ),
    ),
    (
        {},
        [
            *(("segmented_control", "method-segments", "mean"), ("selectbox", "corpus-box", "typed")),
            ("text_area", "texts-box", "The cat sleeps.\n\n A dog runs. \n"),
        ],
        Ablation(component=HEAD, method="mean", texts=("The cat sleeps.", " A dog runs. ")),
    ),
    (
        CELLS,
        [("segmented_control", "scope-segments", "row"), ("segmented_control", "operation-segments", "knock_out")],
        CellEdit(attention="encoder", layer=1, heads=(2,), cells=((3, None),), operation="knock_out"),
    ),
    (
        CELLS,
        [
            *(("segmented_control", "scope-segments", "column"), ("segmented_control", "operation-segments", "scale")),
            *(("number_input", "number-box", 0.5), ("toggle", "renormalize-box", False)),
        ],
        CellEdit(attention="encoder", layer=1, heads=(2,), cells=((None, 0),), operation="scale", number=0.5),
    ),
]


@pytest.mark.parametrize(("view", "steps", "entry"), ADDED, ids=range(len(ADDED)))
def test_what_is_filled_in_is_added_and_does_what_the_core_computes(
    open_app: OpenApp, three_kinds: Path, view: dict[str, str], steps: list[tuple[str, str, Any]], entry: StackEntry
):
    app = opened(open_app, **view)
    for kind, key, value in steps:
        getattr(app, kind)(key=f"interventions-{key}").set_value(value).run()
    app = press(app, "interventions-add-it")
    assert stack_of(app).entries == (entry,)
    result = expected(three_kinds, InterventionStack(entries=(entry,)))
    np.testing.assert_allclose(changes(app), result.logit_differences[1] - result.logit_differences[0], atol=1e-5)


@pytest.mark.parametrize("add", ["ablate", "patch"])
def test_values_are_taken_from_as_much_of_a_long_text_as_an_intervention_can_name(open_app: OpenApp, add: str):
    app = opened(open_app, model="tales", text="The cat sat. " * 160, add=add)
    assert "2,000" not in words_of(app)
    app.text_input(key="interventions-other-line").set_value("A dog. " * 500).run()
    assert "2,000" in words_of(app)
    (entry,) = stack_of(press(app, "interventions-add-it")).entries
    assert isinstance(entry, Ablation | Patch)
    assert (entry.text if isinstance(entry, Patch) else entry.texts[0]) == ("A dog. " * 500)[:2000]
