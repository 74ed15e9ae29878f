"""A live figure: what is sent to the browser, what comes back, and which files go with it."""

import base64
import json
import subprocess
import sys
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.models import ROOT
from tests.pages.conftest import component


def page() -> None:
    """A page with one figure."""
    import plotly.graph_objects as go
    import streamlit as st

    from headlight.language import speaking
    from pages.components import figures

    settings = dict(st.session_state.get("settings", {}))
    settings["files"] = lambda: {"heads.csv": b"a,b\n", "heads.npz": b"PK", "state.json": "{é}".encode()}
    if settings.pop("with_choices", False):
        settings |= {"on_cell": lambda: None, "on_window": lambda: None}
    with speaking(settings.pop("language", "en")):
        figures.live_figure(go.Figure(go.Heatmap(z=[[1.0]])), name="heads", key="figure", **settings)
    st.session_state["cell"] = figures.sent_cell("figure")
    st.session_state["window"] = figures.sent_window("figure")


def run(sent: dict[str, Any] | None = None, **settings: Any) -> AppTest:
    """Run the page, with what the browser sent for this run."""
    app = AppTest.from_function(page)
    app.session_state["settings"] = settings
    if sent is not None:
        app.session_state["figure"] = sent
    app.run()
    assert not app.exception
    return app


def data_of(app: AppTest) -> dict[str, Any]:
    """What the browser gets."""
    return json.loads(component(app, "figure").json)


def test_each_language_has_its_templates():
    separators = []
    for reader in ("en", "de", "en"):
        templates = data_of(run(language=reader))["templates"]
        separators.append({json.loads(template)["layout"]["separators"] for template in templates.values()})
    assert separators == [{".,"}, {",\u202f"}, {".,"}]


def test_files_are_made_only_where_the_menu_asks_for_them():
    data = data_of(run())
    assert (data["files"], data["answers"]) == (None, None)
    assert data_of(run({"open": "17"}))["files"] is None
    data = data_of(run({"open": 17}))
    assert data["answers"] == 17
    files = {name: base64.b64decode(content) for name, content in data["files"].items()}
    assert files == {"heads.csv": b"a,b\n", "heads.npz": b"PK", "state.json": "{é}".encode()}


def test_the_browser_is_told_what_to_send():
    data = data_of(run())
    assert (data["clicks"], data["windows"], data["isWindow"], data["cell"], data["link"]) == (False,) * 3 + (None,) * 2
    data = data_of(run(with_choices=True, is_window=True, cell=(3, 0), link="pair", height=300))
    assert (data["clicks"], data["windows"], data["isWindow"]) == (True,) * 3
    assert (data["cell"], data["link"], data["height"]) == ({"query": 3, "key": 0}, "pair", 300)


@pytest.mark.parametrize(
    ("sent", "cell"),
    [
        ({"query": 3, "key": 0}, (3, 0)),
        *((nonsense, None) for nonsense in ({"query": 1}, {"query": -1, "key": 0}, {"query": 1.5, "key": 0}, [1, 2])),
    ],
)
def test_a_sent_cell_is_checked(sent: object, cell: tuple[int, int] | None):
    assert run({"cell": sent}, with_choices=True).session_state["cell"] == cell


@pytest.mark.parametrize(
    ("sent", "window"),
    [
        ({"queries": [2, 5], "keys": [0, 0]}, (range(2, 6), range(1))),
        *(({"queries": queries, "keys": [0, 0]}, None) for queries in (None, [5, 2], [-1, 2], [1, 2, 3])),
    ],
)
def test_a_sent_window_is_checked(sent: object, window: tuple[range, range] | None):
    assert run({"window": sent}, with_choices=True).session_state["window"] == window


def test_pandas_is_there_before_any_figure_is_made():
    """Plotly takes pandas for loaded as soon as another session has begun to load it, and then fails for lack of it."""
    script = "import sys, pages.components.figures; sys.exit(not hasattr(sys.modules.get('pandas'), 'Series'))"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == 0
