"""Cells that are edited together, against plain forward passes of the model."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import words_of
from tests.pages.investigate.interventions.test_page import changes, expected, figures_of, opened, press, stack_of
from transformer_core.analysis.interventions.records import Ablation, CellEdit, Stack

pytestmark = pytest.mark.usefixtures("three_kinds_here")
OpenApp = Callable[..., AppTest]
NAMES = ("en-fr-interventions-pattern-before", "en-fr-interventions-pattern")


def group_opened(open_app: OpenApp) -> AppTest:
    app = opened(open_app, add="cells", attention="encoder", layer="0", head="1")
    return app.segmented_control(key="interventions-scope-segments").set_value("group").run()


def add_cell(app: AppTest, query: int, key: int) -> AppTest:
    app.selectbox(key="interventions-query-box").set_value(query).run()
    app.selectbox(key="interventions-cell-key-box").set_value(key).run()
    return press(app, "interventions-add-cell")


def framed(app: AppTest) -> list[list[tuple[int, int]]]:
    """The cells that have a frame, in each of the two patterns."""
    figures = figures_of(app)
    return [
        [
            (round(shape["y0"] + 0.5), round(shape["x0"] + 0.5))
            for shape in figures[name]["layout"].get("shapes", [])
            if shape["type"] == "rect"
        ]
        for name in NAMES
    ]


def test_a_group_of_cells_is_edited_at_once_and_then_empty(open_app: OpenApp, three_kinds: Path):
    app = group_opened(open_app)
    for query, key in ((2, 1), (3, 0), (4, 4)):
        app = add_cell(app, query, key)
    assert app.button(key="interventions-add-cell").disabled  # it is in the group
    assert framed(app) == [[(2, 1), (3, 0), (4, 4)]] * 2
    app.multiselect(key="interventions-group-box").set_value([(2, 1), (4, 4)]).run()
    assert framed(app) == [[(2, 1), (4, 4)]] * 2
    app.segmented_control(key="interventions-operation-segments").set_value("knock_out").run()
    app = press(app, "interventions-add-it")
    edit = CellEdit(attention="encoder", layer=0, heads=(1,), cells=((2, 1), (4, 4)), operation="knock_out")
    assert stack_of(app).entries == (edit,)
    assert framed(app) == [[], []] and not app.multiselect(key="interventions-group-box").value

    result = expected(three_kinds, Stack(entries=(edit,)))
    np.testing.assert_allclose(changes(app), result.logit_differences[1] - result.logit_differences[0], atol=1e-5)


def test_cells_that_a_shorter_text_lacks_are_left_out(open_app: OpenApp):
    app = press(group_opened(open_app), "interventions-add-it")
    assert app.warning[0].value.startswith("The group has no cell yet") and not stack_of(app).entries
    app = add_cell(add_cell(app, 5, 5), 1, 1)
    app.session_state["text"] = "The cat."
    app.run()
    app = press(app, "interventions-add-it")
    (entry,) = stack_of(app).entries
    assert isinstance(entry, CellEdit) and entry.cells == ((1, 1),)


def test_it_is_said_how_many_positions_have_a_counterpart(open_app: OpenApp):
    app = opened(open_app, attention="encoder", add="ablate")
    app.selectbox(key="interventions-kind-box").set_value("resid_post").run()
    app.multiselect(key="interventions-positions-box").set_value([2, 5]).run()
    app.text_input(key="interventions-other-box").set_value("The dog didn't sleep.").run()
    (added,) = stack_of(press(app, "interventions-add-it")).entries
    assert isinstance(added, Ablation) and added.component.positions == (2, 5)
    assert "1 of 2 positions has a counterpart" in words_of(app)
