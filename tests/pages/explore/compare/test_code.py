"""The lines that the Compare page shows run on their own, and give the numbers that it draws."""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.pages.conftest import EXAMPLES, OpenApp, shown_code
from tests.pages.explore.compare.compare_parts import Figures, cells_of, figures_of, open_compare
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, numbers
from tests.pages.train.small_films import TEXTS, save_run

pytestmark = pytest.mark.usefixtures("checkpoints")
OTHER = EXAMPLES[0].replace("cat", "dog")
HEAD = {"attention": "encoder", "layer": "1", "head": "2"}
EVEN, OFF = "even:encoder.0.1+encoder.0.2", "off:encoder.0.1"
SIDES = {
    "another text": {"btext": OTHER},
    "another head": {"bhead": "encoder.0.3"},
    "a change of B": {"btext": "", "bchange": EVEN},
    "a change of A": {"btext": "", "change": OFF},
    "changes of both, another text": {"btext": OTHER, "change": OFF, "bchange": EVEN},
    "another model": {"btext": "", "with": "other"},
    "another model, changed": {"btext": "", "with": "other", "bchange": OFF},
}
Drawn = dict[str, np.ndarray]
"""Numbers of figures, by what the lines call them."""


def heatmaps(name: str, trace: str) -> Callable[[Figures], Drawn]:
    """Of a figure for each attention or stack, in whose titles it stands."""
    attentions = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}
    return lambda figures: {
        name.format(attention): cells_of(figure, trace)
        for title, figure in figures.items()
        for attention, words in attentions.items()
        if title.startswith(words)
    }


def one(figures: Figures) -> Drawn:
    a, b, _ = figures.values()
    difference = cells_of(figures["B − A"], "difference")
    return {"pair.a": cells_of(a, "attention"), "pair.b": cells_of(b, "attention"), "pair.difference": difference}


def head_map(figures: Figures) -> Drawn:
    (figure,) = figures.values()
    (heads,) = (trace for trace in figure["data"] if trace["name"] == "heads")
    return {"laid_out.points": np.stack([numbers(heads["x"]), numbers(heads["y"])], axis=1)}


def effect(figures: Figures) -> Drawn:
    shown = [numbers(figure["data"][0]["y"]) for figure in figures.values()]
    return {"on_output.change": shown[0]} if shown else {}


def texts(figures: Figures) -> Drawn:
    return {
        f"over_texts_{title[0].lower()}.values('entropy')": numbers(trace["x"])
        for title, figure in figures.items()
        for trace in figure["data"]
        if trace["name"] == "texts"
    }


VIEWS: dict[str, Callable[[Figures], Drawn]] = {
    "one": one,
    "changed": heatmaps("changed['{}']", ""),
    "map": head_map,
    "layers": heatmaps("cka_{}", "similarity"),
    "effect": effect,
    "texts": texts,
}
PAIRS = [  # each view and each kind of sides at least once; where nothing is drawn, the lines run all the same
    *zip(VIEWS, SIDES, strict=False),
    *(("one", "changes of both, another text"), ("changed", "a change of B"), ("map", "another model, changed")),
    *(("layers", "another model"), ("effect", "a change of B"), ("changed", "another model")),
]
WITHOUT_FIGURES = {
    *(("changed", "another head"), ("changed", "another model"), ("effect", "changes of both, another text"))
}


def run(app: Any) -> tuple[dict[str, Any], str]:
    """Run the lines; return the names that they define, and their output."""
    names: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(shown_code(app), names)
    return names, printed.getvalue()


def check(names: dict[str, Any], drawn: Drawn) -> None:
    for expression, shown in drawn.items():
        np.testing.assert_allclose(eval(expression, names), shown, atol=1e-6)


@pytest.mark.parametrize(("view", "sides"), PAIRS)
def test_the_lines_give_what_is_drawn(open_app: OpenApp, view: str, sides: str):
    app = open_compare(open_app, view=view, **SIDES[sides], **HEAD)
    drawn = VIEWS[view](figures_of(app))
    names, printed = run(app)
    assert bool(drawn) != ((view, sides) in WITHOUT_FIGURES)
    check(names, drawn)
    assert printed.startswith(f"{names['a'].output}\n{names['b'].output}\n")


def test_snapshots_of_a_training(open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save_run(tmp_path / "runs" / "pairs")
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    snapshots = {"at": "pairs@60", "with": "pairs@20", "bchange": EVEN}
    app = open_compare(open_app, text=TEXTS[0], view="effect", **snapshots, **HEAD)
    names, _ = run(app)
    drawn = effect(figures_of(app))
    assert drawn
    check(names, drawn)


@pytest.mark.parametrize(
    ("view", "key", "expression", "name"),
    [
        ("one", "compare-B", "pair.b", "pattern"),
        ("map", "compare-map", "distances", "distances"),
        ("effect", "compare-effect", "on_output.kl", "kl"),
        ("texts", "compare-texts-B", "over_texts_b.values('entropy')", "entropy"),
    ],
)
def test_the_lines_that_go_with_a_figure_give_its_numbers(
    open_app: OpenApp, view: str, key: str, expression: str, name: str
):
    files = files_of(open_compare(open_app, view=view, btext="", bchange=EVEN, **HEAD), key)
    names: dict[str, Any] = {}
    exec(files["py"].decode(), names)
    np.testing.assert_allclose(eval(expression, names), arrays_of(files)[name], atol=1e-6)


def test_two_heads_that_cannot_be_paired(open_app: OpenApp):
    app = open_compare(open_app, bhead="decoder.0.1", change=OFF, **HEAD)
    _, printed = run(app)
    shown = cells_of(figures_of(app)["A: encoder self-attention L1.H2"], "attention")
    assert np.array2string(shown) in printed
