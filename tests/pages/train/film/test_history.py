"""What the page Film makes of a training's measurements, and which of two trainings or snapshots it compares."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from pages.shared import runs
from pages.shared.runs import Run
from pages.train.film import film_readings, learning, seeds
from tests.pages.conftest import overview_of, words_of
from tests.pages.explore.decoding.decoding_parts import files_of
from tests.pages.train.film_page import Models, OpenApp, figures_of, pattern_in
from tests.pages.train.small_films import STEPS, TEXTS, save_run, with_heads_turned
from transformer_core.analysis.heads.measures import HeadMeasures, HeadName, Share
from transformer_core.analysis.training.head_history import Appearance, HeadHistory
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.film import Film


def run_of(name: str) -> Run:
    run = runs.find(name)
    assert run is not None
    return run


def appearance(step: int, head: int = 0) -> Appearance:
    name = HeadName("decoder", 1, head)
    return Appearance(name=name, measure="previous", step=step, score=0.7, chance=0.1, is_from_start=False)


def test_marks_lie_at_the_nearest_snapshot_and_those_of_one_place_are_told_together():
    found = [appearance(61, 3), appearance(9, 0), appearance(0, 1), appearance(11, 2), appearance(10, 4)]
    marks = learning.marks((0, 4, 16, 60), found)
    assert [place for place, _ in marks] == [0, 1, 2, 3]
    heads = [re.findall(r"L1\.H(\d)", words) for _, words in marks]
    assert heads == [["1"], ["0", "4"], ["2"], ["3"]], "of two snapshots that are as near, the earlier"
    assert all(words.count("\n") == len(of) - 1 for (_, words), of in zip(marks, heads, strict=True))


def write_heads(place: Path) -> None:
    """Let the run "pairs" have heads with other habits: two that align, one that looks at the token before."""
    film = Film(place / "pairs")
    heads = [(name, layer, head) for name in ("encoder", "decoder", "cross") for layer in (0, 1) for head in range(4)]
    late = {("cross", 1, 2): ("aligned", 4), ("cross", 0, 3): ("aligned", 20), ("decoder", 0, 1): ("previous", 4)}
    for step in STEPS:
        measures = []
        for number, (name, layer, head) in enumerate(heads):
            measure, start = late.get((name, layer, head), ("", 99))
            shares: dict[str, Share | None] = {
                one: Share(score=0.9 if one == measure and step >= start else number / 1000, chance=0.05, spread=0.01)
                for one in ("previous", "aligned")
            }
            shares["previous" if name == "cross" else "aligned"] = None
            measures.append(
                HeadMeasures(
                    attention=name,
                    layer=layer,
                    head=head,
                    entropy=1.0,
                    relative_entropy=step / 100 + number / 1000,
                    diagonality=Share(score=0.2, chance=0.2, spread=0.01),
                    induction=None,
                    **shares,
                )
            )
        film.heads.append(HeadHistory.to_record(step, measures))  # of two lines of one step, the later counts


def test_the_measure_that_most_heads_took_up_is_seen_first_and_taken_away(open_film: OpenApp, place: Path):
    write_heads(place)
    app = open_film(run="pairs", snapshot="4", attention="cross", layer="1", head="2")
    assert app.segmented_control(key="film-measure").value == "aligned"
    buttons = [str(b.label).replace("\\", "") for b in app.button if str(b.key).startswith("film-appearance")]
    assert len(buttons) == 3 and "3 times" in words_of(app)
    assert any("step 4" in b and "alignment" in b and "L1.H2, 0.90" in b for b in buttons)
    assert any("step 20" in b and "alignment" in b and "L0.H3, 0.90" in b for b in buttons)
    places = [mark["place"] for mark in overview_of(app)[0]["film"]["marks"]]
    assert places == [STEPS.index(4), STEPS.index(20)]
    rows = list(csv.DictReader(io.StringIO(files_of(app, "film-heads")["csv"].decode())))
    assert [row["step"] for row in rows] == [str(step) for step in STEPS]
    assert [row["cross L1.H2"] for row in rows] == ["0.022", "0.9", "0.9", "0.9"]
    assert {row["decoder L0.H1"] for row in rows} == {""}, "which has no such measure"
    aligned = str(figures_of(app)["pairs-heads-aligned"])
    assert "threshold 0.3" in aligned and aligned.count("becomes an alignment head") == 2
    assert "previous-token head" not in aligned, "which is of another measure"
    app.segmented_control(key="film-measure").select("relative_entropy").run()
    assert not app.exception
    figure = figures_of(app)["pairs-heads-relative_entropy"]
    assert "threshold" not in str(figure) and "becomes" not in str(figure)
    assert "of maximum entropy" in str(figure["data"]) and "pairs-heads-aligned" not in figures_of(app)


def test_where_no_head_took_up_a_habit_that_is_said(open_film: OpenApp, place: Path):
    (place / "tales" / "film" / "heads.jsonl").unlink()
    app = open_film(run="tales")
    assert "No head of this training specialized" in words_of(app)
    assert not [name for name in figures_of(app) if "heads" in name] and "Heads over time" not in words_of(app)
    assert overview_of(app)[0]["film"]["marks"] == []


def test_the_line_of_the_loss_is_smooth_and_read_between_the_steps_that_were_logged(open_film: OpenApp, place: Path):
    """A long log: at snapshots between its steps lies the line between them, of the mean over neighbours."""
    directory = RunDirectory.open(place / "pairs")
    (place / "pairs" / "metrics.jsonl").unlink()
    values = np.where(np.arange(1, 121) % 2, 3.0, 1.0) - np.arange(1, 121) / 240
    for step, value in enumerate(values, start=1):
        directory.metrics.append({"step": step, "loss": float(value), "held_out_loss": 9.0})
    app = open_film(run="pairs")
    loss = overview_of(app)[0]["film"]["lines"][0]
    reach = 120 // 40
    means = [values[max(0, i - min(i, reach)) : i + min(i, reach) + 1].mean() for i in range(120)]
    np.testing.assert_allclose(loss["values"], [means[0], means[3], means[19], means[59]], atol=6e-5)


def test_a_training_is_compared_at_its_snapshot_that_is_nearest_and_on_several_texts(
    open_film: OpenApp, place: Path, made: tuple[Path, Models]
):
    save_run(place / "turned", seed=7, steps=(0, 18, 60))
    Film(place / "turned").add(18, with_heads_turned(made[1]["pairs"][STEPS.index(20)], 1))
    app = open_film(run="pairs", snapshot="20", other="turned", text=TEXTS[0], attention="encoder", layer="0", head="2")
    words = words_of(app)
    assert "by their patterns: <b>1.00</b>" in words and "on 3 texts" in words, "its own and two other examples"
    figures = figures_of(app)
    ours, theirs = (pattern_in(figures[name]) for name in ("pairs-encoder-layer0-head2", "turned-encoder-layer0-head3"))
    np.testing.assert_allclose(ours, theirs, atol=1e-3)  # films are in half precision
    assert any("turned, step 18" in str(figure["layout"]) for figure in figures.values())
    table = list(csv.DictReader(io.StringIO(files_of(app, "film-matrix")["csv"].decode())))
    matched = {
        tuple(int(row[name]) for name in ("layer_a", "head_a", "layer_b", "head_b"))
        for row in table
        if row["matched"] == "1"
    }
    assert matched == {(layer, head, layer, (head + 1) % 4) for layer in (0, 1) for head in range(4)}
    assert len(table) == 64
    app.button(key="film-pair-of-1-3").click().run()
    assert overview_of(app)[0]["chosen"]["value"] == {"attention": "encoder", "layer": 1, "head": 3}
    app = open_film(run="pairs", snapshot="20", other="turned", text="The dog sleeps.", attention="encoder")
    assert "on 4 texts" in words_of(app)


def run_with(run: Run, command: str, seed: int, name: str = "") -> Run:
    """The same run, asked for by another command."""
    request = {**(run.request or {}), "command": command, "training": {"seed": seed}}
    return replace(run, request=request, path=run.path.with_name(name or run.name))


def test_the_next_seed_is_above_those_of_all_runs_of_its_kind_and_of_no_other(place: Path):
    command = "python -m transformer_core train --corpus 'a b.txt' --run runs/x --preset tiny{more} --set dropout=0.2"
    mine = run_with(run_of("pairs"), command.format(more=" --seed 8"), 8)
    others = {
        "a": run_with(mine, command.format(more=""), 0, "a"),
        "b": run_with(mine, command.format(more=" --seed 5"), 5, "b"),
        "c": run_with(mine, command.format(more=" --seed 30").replace("0.2", "0.3"), 30, "c"),
    }
    name, arguments = seeds.sibling(mine, others)
    settings = ["--corpus", "a b.txt", "--preset", "tiny", "--set", "dropout=0.2"]
    assert (name, arguments) == ("pairs-seed9", [*settings, "--seed", "9"])
    save_run(place / "pairs-seed3")
    again = run_with(run_of("pairs-seed3"), command.format(more=" --seed 2"), 2)
    others["b"] = run_with(mine, command.format(more=" --seed 2"), 2, "b")
    assert seeds.sibling(again, others)[0] == "pairs-seed3-2", "which is taken"
    assert seeds.sibling(again, others)[1][-1] == "3"


def test_what_was_read_of_a_text_is_not_read_again_where_snapshots_come(place: Path):
    run = run_of("pairs")
    read: list[tuple[int, int, int]] = []

    def tell(n_read: int, n: int, step: int) -> None:
        read.append((n_read, n, step))

    first = film_readings.read(run, STEPS[:3], TEXTS[0], "the dog sees", tell)
    assert read == [(1, 3, 0), (2, 3, 4), (3, 3, 20)]
    again = film_readings.read(run, STEPS[:3], TEXTS[0], "the dog sees", tell)
    assert len(read) == 3 and again.identity == first.identity and again.reading is first.reading
    more = film_readings.read(run, STEPS, TEXTS[0], "the dog sees", tell)
    assert read[3:] == [(1, 1, 60)] and more.identity != first.identity
    np.testing.assert_array_equal(more.reading.patterns["cross"][:3], first.reading.patterns["cross"])
    film_readings.read(run, STEPS[:3], TEXTS[0], "the dog sees the", tell)
    assert len(read) == 7, "another target is another reading"
