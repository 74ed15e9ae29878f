"""Each mistake is seen in the figures of its exercise, and its answer is right of no other mistake."""

import numpy as np
import pytest

from pages.learn.tour.lesson_engine.catalogue import KINDS, read_parameters
from pages.learn.tour.lesson_engine.drawn import FigureData, Plot, Table
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.judging import right_choice
from pages.learn.tour.lesson_engine.lesson import Asked, FigureSpec, Lesson
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence
from tests.pages.learn.tour.lesson_engine.test_shipped_lessons import ENGLISH
from transformer_core.errors import HeadlightError

VISIBLE = 0.1  # of the height of an axis, or of a color scale
LESSONS = {lesson.mistake: lesson for lesson in ENGLISH if lesson.mistake}
pytestmark = pytest.mark.training


def evidence_of(lesson: Lesson, make_evidence: MakeEvidence, mistake: str) -> Evidence:
    text = lesson.text or "The cat sees the dog."
    of = {"target": lesson.target, "padding": lesson.padding, "other": lesson.other}
    return make_evidence(lesson.model, text, mistake=mistake, **of)


def seen(lesson: Lesson, evidence: Evidence) -> tuple[list[str], np.ndarray]:
    """What the figures show before the question is answered: words, and numbers as shares of their axis or scale."""
    words: list[str] = []
    shares: list[float] = []
    specs = [part for part in lesson.parts_up_to(0) if isinstance(part, FigureSpec)]
    for spec in (spec for spec in specs if "right" not in spec.parameters):
        drawn = KINDS[spec.kind].draw(
            FigureData(lesson=lesson, spec=spec, evidence=evidence, given=read_parameters(spec))
        )
        if isinstance(drawn, Table):
            for cell in (cell.replace("\u2212", "-") for row in drawn.rows for cell in row):
                try:
                    shares.append(float(cell))  # a probability
                except ValueError:
                    words.append(cell)
            continue
        assert isinstance(drawn, Plot), "no exercise shows a strip"
        layout = drawn.figure.layout.to_plotly_json()
        axes = [axis for name, axis in layout.items() if name.startswith(("xaxis", "yaxis"))]
        words += [str(label) for axis in axes for label in axis.get("ticktext") or ()]
        for trace in drawn.figure.data:
            if trace.type == "heatmap":
                values = np.ravel(np.asarray(trace.z, dtype=float))
                span = (
                    1 if trace.name == "masked" else np.ptp([layout[trace.coloraxis][end] for end in ("cmin", "cmax")])
                )
            elif trace.type == "bar" or trace.mode == "lines":
                values, span = np.asarray(trace.y, dtype=float), np.ptp(layout["yaxis"]["range"])
            else:
                continue  # the same numbers, written into the cells
            shares += (np.nan_to_num(values, nan=2.0) / span).tolist()
    return words, np.array(shares)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen_before_its_question_is_answered(make_evidence: MakeEvidence, mistake: str):
    wrong, right = (
        seen(LESSONS[mistake], evidence_of(LESSONS[mistake], make_evidence, name)) for name in (mistake, "")
    )
    is_other = wrong[0] != right[0] or wrong[1].shape != right[1].shape
    assert is_other or np.abs(wrong[1] - right[1]).max() >= VISIBLE


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_right_answer_is_right_of_this_mistake_alone(make_evidence: MakeEvidence, mistake: str):
    lesson = LESSONS[mistake]
    (question,) = lesson.questions
    right = right_choice(question, evidence_of(lesson, make_evidence, mistake))
    assert isinstance(right.is_right, Asked)
    for other in ("", *MISTAKES):
        try:
            holds = evidence_of(lesson, make_evidence, other).answer(right.is_right.expression)
        except HeadlightError:
            continue  # the text is none that this mistake can be made with
        assert holds == (other == mistake), (right.text, other)
