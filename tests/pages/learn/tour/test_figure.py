"""Figures of a chapter: strips, tables, sliders, and what trains only where a person asked for it."""

import re
from typing import Any

import pytest

from pages.learn.tour import figure, view_fields
from pages.learn.tour.lesson_engine.drawn import Slider, Strip, Table
from pages.learn.tour.lesson_engine.lesson import FigureSpec
from tests.pages.learn.bare import Bare
from tests.pages.learn.tour.conftest import MakeLesson


def spec(kind: str) -> FigureSpec:
    return FigureSpec(kind=kind, parameters={}, lines={}, line=1)


@pytest.mark.parametrize(
    ("notes", "weights", "expected"),
    [
        (("x", "y"), (0.25, 1.5), [("0.250", "a", "x"), ("1.000", "b", "y")]),
        ((), (), [("0.000", "a", ""), ("0.000", "b", "")]),
    ],
)
def test_a_strip_has_a_note_and_a_ground_for_each_token(bare: Bare, notes: Any, weights: Any, expected: Any):
    figure._strip(Strip(title="T", labels=("a", "b"), notes=notes, weights=weights))
    found = re.findall(r"<span style='--hl-p:(.*?)'><bdi>(.*?)</bdi><small>(.*?)</small></span>", bare.words)
    assert found == expected and "<figcaption>T</figcaption>" in bare.words


@pytest.mark.parametrize(("marked", "classes"), [(1, ["", "hl-marked"]), (0, ["hl-marked", ""]), (None, ["", ""])])
def test_a_table_marks_its_row_and_has_codes_beside_names(bare: Bare, marked: int | None, classes: list[str]):
    rows = (("one", "1", "2"), ("two", "3", "4"))
    figure._table(Table(title="T", columns=("name", "x", "y"), rows=rows, marked=marked, codes=("c1", "")))
    assert "<th>name</th><th>x</th><th>y</th>" in bare.words
    lines = [
        f"<tr class='{classes[0]}'><td>one<code>c1</code></td><td>1</td><td>2</td></tr>",
        f"<tr class='{classes[1]}'><td>two</td><td>3</td><td>4</td></tr>",
    ]
    assert "".join(lines) in bare.words
    bare.clear()
    figure._table(Table(title="T", columns=("name", "x", "y"), rows=rows))
    assert "<code>" not in bare.words and "hl-marked" not in bare.words


@pytest.mark.parametrize(("step", "number"), [(1.0, int), (2.0, int), (0.5, float)])
def test_a_slider_of_whole_steps_is_of_whole_numbers(bare: Bare, step: float, number: type):
    slider = Slider(name="n", label="N", low=1.0, high=9.0, step=step, start=3.0)
    figure._sliders((slider,), "key")
    how = bare.widgets["key-n"].how
    limits = [how[name] for name in ("min_value", "max_value", "value", "step")]
    assert limits == [1, 9, 3, step] and {type(limit) for limit in limits} == {number}


def test_the_six_words_are_trained_only_where_it_was_asked_for(bare: Bare, make_lesson: MakeLesson):
    lesson = make_lesson()
    assert figure._training(lesson, spec("loss"), {}, "key") is False and not bare.buttons
    assert figure._training(lesson, spec("distributions"), {}, "key") is False
    button = bare.buttons["key-train"]
    assert (button["label"], button["type"]) == ("Train now", "primary")
    button["on_click"](*button["args"])
    assert view_fields.wants_training("made") and view_fields.seed("made") == 0


def test_a_training_is_told_every_eighth_step_and_begins_from_the_chosen_seed(
    bare: Bare, make_lesson: MakeLesson, monkeypatch: pytest.MonkeyPatch
):
    told: list[Any] = []
    trained: list[Any] = []

    class Six:
        def __init__(self, seed: int, on_step: Any) -> None:
            self.seed, self.on_step = seed, on_step

        def six_words(self, smoothing: float) -> None:
            trained.append((self.seed, smoothing))
            for step in range(1, 18):
                self.on_step(step, 2.0)

    monkeypatch.setattr(figure.lessons, "evidence_of", lambda _, *, seed, on_step: Six(seed, on_step))
    monkeypatch.setattr(figure.lessons, "six_word_steps", lambda: 10)
    monkeypatch.setattr(figure.st, "progress", lambda share, text: told.append((share, text)), raising=False)
    for _ in range(3):
        view_fields.train("made")
    assert figure._training(make_lesson(), spec("distributions"), {"smoothing": 0.1}, "key") is True
    assert trained == [(2, 0.1)]
    assert [share for share, _ in told] == [0.8, 1.0] and "Step 8" in told[0][1].replace("\u2060", "")
    assert (
        bare.buttons["key-train"]["label"].startswith("Train again")
        and bare.buttons["key-train"]["type"] == "secondary"
    )
