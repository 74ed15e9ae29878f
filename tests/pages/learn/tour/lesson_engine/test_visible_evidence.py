"""Each mistake is seen in the figures: they differ visibly from the correct model's, and from any other mistake's.

What is compared is what is drawn (heights of bars, colors of cells, numbers and words of tables), as a share of the
axis or of the scale that it is drawn on; the oracle is the same figure of the same model without the mistake.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from pages.learn.tour.lesson_engine.catalogue import KINDS, read_parameters
from pages.learn.tour.lesson_engine.drawn import FigureData, Plot, Strip, Table
from pages.learn.tour.lesson_engine.errors import LessonError
from pages.learn.tour.lesson_engine.judging import right_choice
from pages.learn.tour.lesson_engine.lesson import Asked, FigureSpec, Lesson
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence
from tests.pages.learn.tour.lesson_engine.test_shipped_lessons import ENGLISH
from transformer_core.errors import HeadlightError

VISIBLE = 0.1  # of the height of an axis, or of a color scale
LESSONS = {lesson.mistake: lesson for lesson in ENGLISH if lesson.mistake}
pytestmark = pytest.mark.training


@dataclass(frozen=True)
class Picture:
    """What a figure shows."""

    words: tuple[str, ...]  # labels of axes, and cells of tables that are no numbers
    numbers: np.ndarray
    spans: np.ndarray  # of the axis or the color scale that each number is drawn on


def pictures(lesson: Lesson, make_evidence: MakeEvidence, mistake: str) -> list[Picture] | str:
    """What is seen of a lesson before its question is answered, with some mistake; why there is nothing to see."""
    evidence = make_evidence(
        lesson.model,
        lesson.text or "The cat sees the dog.",
        mistake=mistake,
        target=lesson.target,
        padding=lesson.padding,
        other=lesson.other,
    )
    found = []
    specs = [part for part in lesson.parts_up_to(0) if isinstance(part, FigureSpec)]
    for spec in (spec for spec in specs if "right" not in spec.parameters):
        data = FigureData(lesson=lesson, spec=spec, evidence=evidence, given=read_parameters(spec))
        try:
            drawn = KINDS[spec.kind].draw(data)
        except LessonError as error:
            return str(error)
        found.append(_of_table(drawn) if isinstance(drawn, Table) else _of_plot(drawn))
    return found


def _of_table(table: Table) -> Picture:
    """Of probabilities, on a scale from 0 to 1."""
    words, numbers = [], []
    for cell in (cell for row in table.rows for cell in row):
        try:
            numbers.append(float(cell.replace("\u2212", "-")))
        except ValueError:
            words.append(cell)
    return Picture(tuple(words), np.array(numbers), np.ones(len(numbers)))


def _of_plot(drawn: Plot | Strip) -> Picture:
    assert isinstance(drawn, Plot), "no exercise shows a strip"
    layout = drawn.figure.layout.to_plotly_json()
    axes = [axis for name, axis in layout.items() if name.startswith(("xaxis", "yaxis"))]
    words = [str(label) for axis in axes for label in axis.get("ticktext") or ()]
    numbers, spans = [], []
    for trace in drawn.figure.data:
        if trace.type == "heatmap" and trace.name == "masked":
            words.append("masked" + str(np.isnan(np.asarray(trace.z, dtype=float)).tolist()))
            continue
        if trace.type == "heatmap":
            values, low, high = trace.z, layout[trace.coloraxis]["cmin"], layout[trace.coloraxis]["cmax"]
        elif trace.type == "bar" or trace.mode == "lines":
            values, (low, high) = trace.y, layout["yaxis"]["range"]
        else:
            continue  # the same numbers, written into the cells
        numbers.append(np.nan_to_num(np.ravel(np.asarray(values, dtype=float))))
        spans.append(np.full(numbers[-1].shape, high - low))
    return Picture(tuple(words), np.concatenate(numbers), np.concatenate(spans))


def apart(some: list[Picture] | str, others: list[Picture] | str) -> float:
    """How far two looks at the same figures are apart: the largest difference, 1 where other words are seen."""
    if isinstance(some, str) or isinstance(others, str):
        return float(some != others)
    differences = [0.0]
    for one, other in zip(some, others, strict=True):
        if one.words != other.words or one.numbers.shape != other.numbers.shape:
            return 1.0
        shares = np.abs(one.numbers - other.numbers) / np.maximum(one.spans, other.spans)
        differences.append(float(shares.max(initial=0)))
    return max(differences)


@pytest.fixture(scope="module")
def look(make_evidence: MakeEvidence):
    """Gives what is seen of the exercise about one mistake where the model has another one; each is drawn once."""
    return cache(lambda of, mistake: pictures(LESSONS[of], make_evidence, mistake))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen_before_its_question_is_answered(look, mistake: str):
    assert apart(look(mistake, mistake), look(mistake, "")) >= VISIBLE


@pytest.mark.parametrize("mistake", MISTAKES)
def test_no_other_mistake_looks_the_same(look, mistake: str):
    differences = {other: apart(look(mistake, mistake), look(mistake, other)) for other in MISTAKES if other != mistake}
    assert min(differences.values()) >= VISIBLE, differences


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_right_answer_is_right_of_this_mistake_alone(make_evidence: MakeEvidence, mistake: str):
    lesson = LESSONS[mistake]
    (question,) = lesson.questions
    text = lesson.text or "The cat sees the dog."
    of = {"target": lesson.target, "padding": lesson.padding, "other": lesson.other}
    right = right_choice(question, make_evidence(lesson.model, text, mistake=mistake, **of))
    assert isinstance(right.is_right, Asked)
    for other in ("", *MISTAKES):
        try:
            holds = make_evidence(lesson.model, text, mistake=other, **of).answer(right.is_right.expression)
        except HeadlightError:
            continue  # the text is none that this mistake can be made with
        assert holds == (other == mistake), (right.text, other)


def test_a_difference_is_measured_on_the_axis_that_is_drawn():
    """By hand: 0.4 and 0.5 on an axis from 0 to 2."""
    spans = np.array([2.0, 2.0])
    one, other = Picture(("a",), np.array([0.4, 0.2]), spans), Picture(("a",), np.array([0.5, 0.2]), spans)
    assert apart([one], [other]) == pytest.approx(0.05)
    assert apart([one], [Picture(("b",), one.numbers, spans)]) == 1 and apart([one], [one]) == 0
    assert apart("no", [one]) == 1
