"""The lines that the page Compare shows run by themselves, and give what it draws."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.pages.conftest import EXAMPLES, shown_code
from tests.pages.explore.compare.compare_page import OpenApp, cells_of, figures_of, open_compare
from tests.pages.train.small_films import TEXTS, save_run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("checkpoints")]
OTHER = EXAMPLES[0].replace("cat", "dog")
HEAD = {"attention": "encoder", "layer": "1", "head": "2"}


def run(app: Any) -> tuple[dict[str, Any], str]:
    """Run the lines; return what they define and print."""
    names: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(shown_code(app), names)
    return names, printed.getvalue()


def test_one_head(open_app: OpenApp):
    app = open_compare(open_app, btext=OTHER, bchange="even:encoder.0.1+encoder.0.2", **HEAD)
    names, _ = run(app)
    pair = names["pair"]
    np.testing.assert_allclose(pair.b - pair.a, cells_of(figures_of(app)["B − A"], "difference"), atol=1e-6)


def test_two_heads_that_cannot_be_paired(open_app: OpenApp):
    app = open_compare(open_app, bhead="decoder.0.1", change="off:encoder.0.1", **HEAD)
    _, printed = run(app)
    shown = cells_of(figures_of(app)["A: encoder self-attention L1.H2"], "attention")
    assert np.array2string(shown) in printed


def test_snapshots_of_a_training(open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save_run(tmp_path / "runs" / "pairs")
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    snapshots = {"at": "pairs@60", "with": "pairs@20"}
    app = open_compare(open_app, text=TEXTS[0], **snapshots, **HEAD)
    names, _ = run(app)
    difference = names["pair"].b - names["pair"].a
    np.testing.assert_allclose(difference, cells_of(figures_of(app)["B − A"], "difference"), atol=1e-6)


def test_which_heads_changed(open_app: OpenApp):
    app = open_compare(open_app, btext=OTHER, view="changed", **HEAD)
    _, printed = run(app)
    shown = cells_of(figures_of(app)["Encoder self-attention: distance between A and B"], "")
    layer, head = np.unravel_index(shown.argmax(), shown.shape)
    assert printed.startswith(f"encoder {layer} {head} {shown.max():.3f}".rstrip("0"))


@pytest.mark.parametrize("by", ["looking", "writing"])
@pytest.mark.parametrize("heads", ["both", "a"])
def test_the_map(open_app: OpenApp, by: str, heads: str):
    app = open_compare(open_app, btext=OTHER, view="map", by=by, heads=heads, **HEAD)
    names, _ = run(app)
    (figure,) = figures_of(app).values()
    x = np.array(names["head_map"](names["distances"]).points[:, 0])
    (trace,) = (trace for trace in figure["data"] if trace["name"] == "heads")
    assert len(trace["customdata"]) == len(x) == (16 if heads == "both" else 8)


def test_layers(open_app: OpenApp):
    app = open_compare(open_app, btext=OTHER, bchange="off:encoder.0.1", view="layers", **HEAD)
    names, _ = run(app)
    figure = next(figure for title, figure in figures_of(app).items() if title.startswith("Encoder"))
    positions = names["align_tokens"](names["a"].source, names["b"].source)
    likeness = names["layer_likeness"](names["states_a"]["encoder"], names["states_b"]["encoder"], positions)
    np.testing.assert_allclose(likeness, cells_of(figure, "similarity"), atol=1e-6)


def test_many_texts(open_app: OpenApp):
    app = open_compare(open_app, view="texts", change="even:encoder.1.2", **HEAD)
    _, printed = run(app)
    assert f"n_texts={len(EXAMPLES)}" in printed
