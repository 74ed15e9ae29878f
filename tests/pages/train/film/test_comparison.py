"""The Film page under AppTest: two snapshots side by side, and two trainings with their heads matched."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pages.shared import run_commands, runs
from pages.shared.runs import Run
from pages.train.film import seeds
from tests.pages.conftest import OpenApp, figures_of, overview_of, url_of, values_of, words_of
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, redrawn
from tests.pages.train.film_page import Models, heatmap_of, pattern_in
from tests.pages.train.small_films import STEPS, TEXTS, save_run, with_heads_turned
from transformer_core.training.run.film import Film


def test_two_snapshots_and_their_difference(open_film: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    app = open_film(run="pairs", snapshot="20", other="0", text=TEXTS[0], attention="decoder", layer="1", head="0")
    figures = figures_of(app)
    a, b = (pattern_in(figures[f"pairs-{side}-decoder-layer1-head0"]) for side in ("A-step0", "B-step20"))
    np.testing.assert_array_equal(b, heatmap_of(app))
    alone = open_film(run="pairs", snapshot="0", text=TEXTS[0], attention="decoder", layer="1", head="0")
    np.testing.assert_array_equal(a, heatmap_of(alone))
    assert abs(b - a).max() > 1e-3
    difference = figures["pairs-difference-decoder-layer1-head0"]
    shown = values_of(next(trace for trace in difference["data"] if trace["name"] == "difference"))
    np.testing.assert_allclose(np.nan_to_num(shown), b - a, atol=1e-6)
    files = files_of(app, "film-pair-difference")
    again = redrawn(files, tmp_path, monkeypatch)
    pattern_b, pattern_a = (again[name].patterns["decoder"][1, 0] for name in ("b", "a"))
    np.testing.assert_allclose(pattern_b - pattern_a, arrays_of(files)["pattern"], rtol=1e-5, atol=1e-7)
    app.select_slider(key="film-other-step-box").set_value(20).run()
    assert url_of(app)["other"] == "20" and "A and B are the same snapshot" in words_of(app)


def test_a_comparison_begins_with_the_untrained_model_or_else_with_the_trained_one(open_film: OpenApp):
    for snapshot, other in (("20", "0"), ("0", "60")):
        app = open_film(run="pairs", snapshot=snapshot)
        app.segmented_control(key="film-comparison-segments").select("Two snapshots").run()
        assert url_of(app)["other"] == other
    app.segmented_control(key="film-comparison-segments").select("Two trainings").run()
    assert "There is no other training with this architecture" in words_of(app)  # the others have other shapes
    app.segmented_control(key="film-comparison-segments").select("Nothing").run()
    assert not app.exception and "other" not in url_of(app)


def test_a_training_is_compared_at_its_snapshot_that_is_nearest_and_on_several_texts(
    open_film: OpenApp, place: Path, trained: tuple[Path, Models], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save_run(place / "turned", seed=7, steps=(0, 18, 60))
    Film(place / "turned").add(18, with_heads_turned(trained[1]["pairs"][STEPS.index(20)], 1))
    app = open_film(run="pairs", snapshot="20", other="turned", text=TEXTS[0], attention="encoder", layer="0", head="2")
    words = words_of(app)
    assert "by their patterns: <b>1.00</b>" in words and "on 3 texts" in words, "its own and two other examples"
    figures = figures_of(app)
    ours, theirs = (pattern_in(figures[name]) for name in ("pairs-encoder-layer0-head2", "turned-encoder-layer0-head3"))
    np.testing.assert_allclose(ours, theirs, atol=1e-3)  # films are in half precision
    assert any("turned, step 18" in str(figure["layout"]) for figure in figures.values())
    labels = [str(one.label).replace("\\", "") for one in app.button if str(one.key).startswith("film-pair-of-")]
    assert len(labels) == 8 and all("1.00" in label for label in labels)
    files = files_of(app, "film-matrix")
    again = redrawn(files, tmp_path, monkeypatch)["matching"]
    np.testing.assert_allclose(again.similarity, arrays_of(files)["similarity"], rtol=1e-5)
    app.button(key="film-pair-of-1-3").click().run()
    assert overview_of(app)[0]["chosen"]["value"] == {"attention": "encoder", "layer": 1, "head": 3}


def test_the_same_can_be_trained_with_another_seed(open_film: OpenApp, place: Path, monkeypatch: pytest.MonkeyPatch):
    actual: list[tuple[str, list[str]]] = []

    def start(name: str, arguments: list[str]) -> None:
        actual.append((name, arguments))
        save_run(place / name, seed=5)

    monkeypatch.setattr(run_commands, "start", start)
    save_run(place / "again", seed=4)
    app = open_film(run="pairs", other="again")
    app.button(key="film-sibling").click().run()
    assert not app.exception
    ((name, arguments),) = actual
    assert name == url_of(app)["other"] == "pairs-seed5"
    assert " ".join(arguments) == "--corpus tales --preset tiny --set dropout=0.2 --seed 5 --device auto"
    assert "pairs-pairs-seed5-heads" in figures_of(app)


def run_with(run: Run, command: str, seed: int, name: str = "") -> Run:
    """The same run, asked for by another command."""
    request = {**(run.request or {}), "command": command, "training": {"seed": seed}}
    return replace(run, request=request, path=run.path.with_name(name or run.name))


def test_the_next_seed_is_above_those_of_all_runs_of_its_kind_and_of_no_other(place: Path):
    command = "python -m transformer_core train --corpus 'a b.txt' --run runs/x --preset tiny{more} --set dropout=0.2"
    mine = run_with(runs.available()["pairs"], command.format(more=" --seed 8"), 8)
    others = {
        "b": run_with(mine, command.format(more=" --seed 5"), 5, "b"),
        "c": run_with(mine, command.format(more=" --seed 30").replace("0.2", "0.3"), 30, "c"),
    }
    settings = ["--corpus", "a b.txt", "--preset", "tiny", "--set", "dropout=0.2"]
    assert seeds.sibling(mine, others) == ("pairs-seed9", [*settings, "--seed", "9"])
    save_run(place / "pairs-seed9")
    assert seeds.sibling(mine, others)[0] == "pairs-seed9-2", "which is taken"
