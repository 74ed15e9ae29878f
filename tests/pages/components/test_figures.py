"""A live figure: what is sent to the browser, what comes back, and which files go with it."""

import ast
import base64
import csv
import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import export
from pages.shared.models import ROOT
from tests.pages.conftest import component


def page() -> None:
    """A page with one figure."""
    import plotly.graph_objects as go
    import streamlit as st

    from pages.components import figures
    from transformer_core.language import speaking

    settings = dict(st.session_state.get("settings", {}))
    if settings.pop("with_files", False):
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
    assert separators == [{".,"}, {".\u202f"}, {".,"}]


def test_files_are_made_only_where_the_menu_asks_for_them():
    data = data_of(run(with_files=True))
    assert (data["offers"], data["files"], data["answers"]) == (["csv", "npz"], None, None)
    data = data_of(run({"open": 17}, with_files=True))
    assert data["answers"] == 17
    files = {name: base64.b64decode(content) for name, content in data["files"].items()}
    assert files == {"heads.csv": b"a,b\n", "heads.npz": b"PK", "state.json": "{é}".encode()}


@pytest.mark.parametrize("asked", ["17", None, {"a": 1}])
def test_what_the_menu_never_sends_is_not_answered(asked: object):
    data = data_of(run({"open": asked}, with_files=True))
    assert (data["files"], data["answers"]) == (None, None)


def test_a_table_alone_is_a_file():
    data = data_of(run({"open": 1}, csv="é\n1\n"))
    assert data["offers"] == ["csv"]
    assert base64.b64decode(data["files"]["heads.csv"]).decode() == "é\n1\n"


def test_a_figure_without_numbers_offers_none():
    data = data_of(run({"open": 1}))
    assert (data["offers"], data["files"]) == ([], None)


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
        ({"query": None, "key": None}, None),
        ({"query": -1, "key": 0}, None),
        ({"query": 1.5, "key": 0}, None),
        ({"query": "1", "key": 0}, None),
        ({"query": 1}, None),
        ([1, 2], None),
        (None, None),
    ],
)
def test_a_sent_cell_is_checked(sent: object, cell: tuple[int, int] | None):
    assert run({"cell": sent}, with_choices=True).session_state["cell"] == cell


@pytest.mark.parametrize(
    ("sent", "window"),
    [
        ({"queries": [2, 5], "keys": [0, 0]}, (range(2, 6), range(1))),
        ({"queries": None, "keys": None}, None),
        ({"queries": [5, 2], "keys": [0, 0]}, None),
        ({"queries": [-1, 2], "keys": [0, 0]}, None),
        ({"queries": [1, 2, 3], "keys": [0, 0]}, None),
        ({"queries": [1, 2]}, None),
        ("everything", None),
    ],
)
def test_a_sent_window_is_checked(sent: object, window: tuple[range, range] | None):
    assert run({"window": sent}, with_choices=True).session_state["window"] == window


def test_files_to_take_away_say_the_same(two_models: Path):
    numbers = np.random.default_rng(0).random(3).astype(np.float32)
    told = {"model": "en-fr", "text": "Où est le chat ?", "layer": 1}
    files = export.files(
        name="en-fr-head",
        csv=lambda: "weight\n" + "".join(f"{number}\n" for number in numbers),
        arrays=lambda: {"pattern": numbers, "tokens": np.array(["é", "🙂"])},
        code="print('pattern')\n",
        state=told,
        model=str(two_models / "en-fr"),
    )
    assert list(files) == ["en-fr-head.csv", "en-fr-head.npz", "redraw.py", "state.json"]
    rows = list(csv.DictReader(io.StringIO(files["en-fr-head.csv"].decode())))
    with np.load(io.BytesIO(files["en-fr-head.npz"])) as arrays:  # which refuses pickles
        np.testing.assert_array_equal(arrays["pattern"], [np.float32(row["weight"]) for row in rows])
        assert arrays["tokens"].tolist() == ["é", "🙂"]
    code = files["redraw.py"].decode()
    assert code.startswith("#") and ast.unparse(ast.parse(code)) == "print('pattern')"
    state = json.loads(files["state.json"])
    assert state["view"] == told
    weights = (two_models / "en-fr" / "model.safetensors").read_bytes()
    assert state["model"] == {"path": "en-fr", "sha256": hashlib.sha256(weights).hexdigest()}  # nothing of the machine
    assert {"python", "torch", "numpy", "streamlit", "plotly"} == set(state["versions"])


def test_a_model_s_seed_and_new_weights_are_told(tmp_path: Path):
    def model() -> dict[str, Any]:
        files = export.files(name="a", csv=str, arrays=dict, code="", state={}, model=str(tmp_path))
        return json.loads(files["state.json"])["model"]

    assert model() == {"path": tmp_path.name}  # removed meanwhile
    (tmp_path / "card.json").write_text(json.dumps({"trained": {"seed": 7}}))
    for weights in (b"one", b"another"):
        (tmp_path / "model.safetensors").write_bytes(weights)
        told = {"path": tmp_path.name, "sha256": hashlib.sha256(weights).hexdigest(), "seed": 7}
        assert model() == told


@pytest.mark.slow
def test_pandas_is_there_before_any_figure_is_made():
    """Plotly takes pandas for loaded as soon as another session has begun to load it, and then fails for want of it."""
    script = "import sys, pages.components.figures; sys.exit(not hasattr(sys.modules.get('pandas'), 'Series'))"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == 0
