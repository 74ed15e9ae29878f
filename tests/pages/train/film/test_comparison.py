"""The page Film under AppTest: two snapshots side by side, and two trainings with their heads matched."""

import re
from pathlib import Path

import numpy as np
import pytest

from pages.shared import runs
from tests.pages.conftest import overview_of, url_of, values_of, words_of
from tests.pages.train.film_page import OpenApp, figures_of, heatmap_of, pattern_in
from tests.pages.train.small_films import STEPS, TEXTS, save_run
from transformer_core.training.run.film import Film


def test_two_snapshots_and_their_difference(open_film: OpenApp, place: Path):
    app = open_film(run="pairs", snapshot="20", other="0", text=TEXTS[0], attention="decoder", layer="1", head="0")
    figures = figures_of(app)
    a, b = (
        pattern_in(figures["pairs-A-step0-decoder-layer1-head0"]),
        pattern_in(figures["pairs-B-step20-decoder-layer1-head0"]),
    )
    np.testing.assert_array_equal(b, heatmap_of(app))
    alone = open_film(run="pairs", snapshot="0", text=TEXTS[0], attention="decoder", layer="1", head="0")
    np.testing.assert_array_equal(a, heatmap_of(alone))
    assert abs(b - a).max() > 1e-3
    difference = figures["pairs-difference-decoder-layer1-head0"]
    shown = values_of(next(trace for trace in difference["data"] if trace["name"] == "difference"))
    np.testing.assert_allclose(np.nan_to_num(shown), b - a, atol=1e-6)
    app.select_slider(key="film-other-step-box").set_value(60).run()
    assert url_of(app)["other"] == "60"
    app.select_slider(key="film-other-step-box").set_value(20).run()
    assert "A and B are the same snapshot" in words_of(app)


def test_two_snapshots_begin_with_the_untrained_model(open_film: OpenApp):
    app = open_film(run="pairs", snapshot="20")
    app.segmented_control(key="film-comparison-segments").select("Two trainings").run()
    assert not app.exception
    assert "There is no other training with this architecture" in words_of(app)  # the others have other shapes
    app.segmented_control(key="film-comparison-segments").select("Two snapshots").run()
    assert not app.exception and url_of(app)["other"] == "0"
    first = open_film(run="pairs", snapshot="0")
    first.segmented_control(key="film-comparison-segments").select("Two snapshots").run()
    assert url_of(first)["other"] == "60"  # with the trained one
    app.segmented_control(key="film-comparison-segments").select("Nothing").run()
    assert "other" not in url_of(app)


def test_each_pair_says_how_alike_its_heads_are_and_those_of_the_same_index(open_film: OpenApp, place: Path):
    for step, model in zip(STEPS, save_run(place / "again", seed=4), strict=True):
        for name, weights in model.named_parameters():
            if name.endswith("attn.q.weight"):
                weights.data *= 50  # else all heads look everywhere alike, and are alike
        Film(place / "again").add(step, model)
    app = open_film(run="pairs", other="again", attention="decoder")
    alike = values_of(figures_of(app)["pairs-again-heads"]["data"][0])
    labels = [str(button.label) for button in app.button if str(button.key).startswith("film-pair-of-")]
    pairs = np.array([re.findall(r"\d+\.\d\d|\d+", label.replace("\\", "")) for label in labels], dtype=float)
    layers, heads, other_layers, other_heads = pairs.T[:4].astype(int)
    numbers = 4 * layers + heads
    assert numbers.tolist() == [*range(8)]
    np.testing.assert_allclose(pairs[:, 4], alike[numbers, 4 * other_layers + other_heads], atol=0.0051)
    np.testing.assert_allclose(pairs[:, 5], alike[numbers, numbers], atol=0.0051)


def test_the_same_can_be_trained_with_another_seed(open_film: OpenApp, place: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple[str, list[str]]] = []

    def start(name: str, arguments: list[str]) -> None:
        asked.append((name, arguments))
        save_run(place / name, seed=5)

    monkeypatch.setattr(runs, "start", start)
    save_run(place / "again", seed=4)
    app = open_film(run="pairs", other="again")
    app.button(key="film-sibling").click().run()
    assert not app.exception
    ((name, arguments),) = asked
    assert name == "pairs-seed5"
    assert " ".join(arguments) == "--corpus tales --preset tiny --set dropout=0.2 --seed 5 --device auto"
    assert url_of(app)["other"] == "pairs-seed5"
    assert "pairs-pairs-seed5-heads" in figures_of(app)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ("7", "no snapshot at step 7, so A is step 4"),
        ("9" * 90, "so A is step 60"),
        ("-1", "no other training with this architecture"),
        ("gaps", "no other training with this architecture"),
    ],
)
def test_a_comparison_with_what_does_not_exist(open_film: OpenApp, other: str, sentence: str):
    app = open_film(run="pairs", other=other)
    assert sentence in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [*STEPS]
    app.run()
    assert not app.exception
