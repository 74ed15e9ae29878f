"""All heads as a figure to take away: the same patterns as those of a forward by hand, and the lines that give them."""

import base64
import csv
import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.explore.heads import still as heads_still
from tests.pages.explore.heads.heads_parts import weights
from transformer_core.analysis.trace.attentions import ATTENTIONS

pytestmark = pytest.mark.usefixtures("checkpoints")
OpenApp = Callable[..., AppTest]
TEXT = "The cat didn't see the dog."
VIEW = {"text": TEXT, "attention": "cross", "layer": "1", "head": "2"}


def stills(app: AppTest) -> list[dict[str, Any]]:
    """What was sent to the figure of all heads."""
    assert not app.exception
    return [json.loads(c.proto.json) for c in app.get("bidi_component") if c.proto.id.endswith("heads-all")]


def opened(app: AppTest) -> AppTest:
    """The button was pressed, and the menu of the figure opened."""
    app.session_state["heads-overview-still"] = True
    app.session_state["heads-all"] = {"open": 1}
    return app.run()


def files_of(app: AppTest) -> dict[str, bytes]:
    (still,) = stills(app)
    return {name.rpartition(".")[2]: base64.b64decode(text) for name, text in still["files"].items()}


def patterns_by_hand(checkpoints: Any) -> dict[str, np.ndarray]:
    """[layer, head, query, key] by name of attention."""
    return {name: weights(checkpoints, name, TEXT) for name in ("encoder", "decoder", "cross")}


def test_nothing_is_drawn_until_it_is_asked_for_and_then_what_the_overview_shows(open_app: OpenApp):
    app = open_app("heads", **VIEW)
    assert not stills(app)
    (still,) = stills(opened(app))
    figure = json.loads(still["figure"])
    names = [f"<b>{ATTENTIONS[name].title}</b>" for name in ("encoder", "decoder", "cross")]
    assert [note["text"] for note in figure["layout"]["annotations"]] == names
    assert still["height"] == figure["layout"]["height"] and still["name"] == "en-fr-heads"
    assert figure["layout"]["title"]["text"] == "Attention patterns of all heads"
    assert figure["layout"]["shapes"][-1]["type"] == "rect"  # around the chosen one
    (still,) = stills(opened(open_app("heads", **VIEW, only="one")))
    assert [note["text"] for note in json.loads(still["figure"])["layout"]["annotations"]] == ["<b>Cross-attention</b>"]
    assert still["name"] == "en-fr-cross-heads"


def test_what_is_taken_away_holds_every_head_and_the_lines_that_draw_them(
    open_app: OpenApp, checkpoints: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
):
    expected = patterns_by_hand(checkpoints)
    files = files_of(opened(open_app("heads", **VIEW)))
    assert files.keys() == {"csv", "npz", "py", "json"}
    with np.load(io.BytesIO(files["npz"])) as arrays:
        for name, pattern in expected.items():
            np.testing.assert_allclose(arrays[name], pattern, atol=1e-6)
            assert arrays[f"{name}_mask"].shape == (len(pattern), *pattern.shape[2:])
            assert not (arrays[name] * ~arrays[f"{name}_mask"][:, None]).any()
            assert (len(arrays[f"{name}_query"]), len(arrays[f"{name}_key"])) == pattern.shape[2:]
        labels = {name: (arrays[f"{name}_query"], arrays[f"{name}_key"]) for name in expected}
    lines = [*csv.DictReader(io.StringIO(files["csv"].decode()))]
    assert len(lines) == sum(pattern.size for pattern in expected.values())
    for line in lines[::37]:
        queries, keys = labels[line["attention"]]
        cell = int(line["layer"]), int(line["head"]), int(line["query"].split()[0]), int(line["key"].split()[0])
        assert (line["query"], line["key"]) == (queries[cell[2]], keys[cell[3]])
        assert float(line["weight"]) == pytest.approx(expected[line["attention"]][cell], abs=1e-6)
        assert line["allowed"] == str(int(line["attention"] != "decoder" or cell[3] <= cell[2]))
    monkeypatch.chdir(tmp_path)
    again: dict[str, Any] = {}
    exec(compile(files["py"], "redraw.py", "exec"), again)
    for name, pattern in expected.items():
        np.testing.assert_allclose(again["heads"][name].patterns, pattern, atol=1e-6)
    assert (tmp_path / "en-fr-heads.html").read_text(encoding="utf-8").count("Plotly.newPlot") >= 1


def test_of_a_long_text_the_largest_of_each_block(
    open_app: OpenApp, checkpoints: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
):
    monkeypatch.setattr(heads_still, "fit_side", lambda n_heads: 3)
    expected = patterns_by_hand(checkpoints)["encoder"]
    app = opened(open_app("heads", **VIEW | {"attention": "encoder"}, only="one"))
    (still,) = stills(app)
    assert "max-pooled" in json.loads(still["figure"])["layout"]["title"]["text"]
    files, n = files_of(app), expected.shape[-1]
    edges = [cell * n // 3 for cell in range(4)]
    with np.load(io.BytesIO(files["npz"])) as arrays:
        for row, column in np.ndindex(3, 3):
            block = expected[:, :, edges[row] : edges[row + 1], edges[column] : edges[column + 1]]
            np.testing.assert_allclose(arrays["encoder"][:, :, row, column], block.max(axis=(2, 3)), atol=1e-6)
        assert arrays["encoder_key"].tolist() == [f"{edges[i]} to {edges[i + 1] - 1}" for i in range(3)]
    assert files["csv"].decode().count("\n") == 1 + 2 * 4 * 9
    monkeypatch.chdir(tmp_path)
    exec(compile(files["py"], "redraw.py", "exec"), again := dict[str, Any]())
    assert again["of_all"].patterns.shape == (2, 4, 3, 3)
