"""A chapter as a file: formulas in MathML, computed answers, and nothing of a lesson that is markup."""

import re
from pathlib import Path

import pytest

from headlight.language import add_catalogues, speaking
from pages.languages import CATALOGUES
from pages.learn.tour import chapter, lessons, saving

HOSTILE = """\
title: <b>t</b>
model: en-fr
text: The cat sees the dog.

<script>alert(1)</script> and $\\\\frac{1}$ and $x^{2}$, **bold**.

[question]
ask: Which <i>one</i>?
choice: "><b>first
right: second
"""


def saved(name: str, language: str = "en") -> str:
    for folder in CATALOGUES:
        add_catalogues(folder)
    with speaking(language):
        lesson = next(lesson for lesson in lessons.here() if lesson.name == name)
        assert not hasattr(lesson, "why"), lesson
        evidence, rows = lessons.evidence_of(lesson), chapter.rows_of(lesson.parts)
        figures = saving.figures_of(lesson, rows, evidence)
        return saving.saved(lesson, rows, evidence, figures, language)


def test_formulas_and_answers_are_written_in_the_readers_language():
    page = saved("one-word-six-steps", "de")
    assert '<html lang="de">' in page and page.count("<math") == 2 and "\ue000" not in page
    assert "Deine Vorhersage" in page and "data-right='" in page
    assert len(saved("masks")) < 3_000_000 and "data-value='28.0'" in saved("masks")


def test_markup_in_a_lesson_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "hostile.md").write_text(HOSTILE, encoding="utf-8")
    monkeypatch.setenv("HEADLIGHT_LESSONS", str(tmp_path))
    page = saved("own.hostile")
    assert not re.search(r"<script>alert|<b>(t|first)|<i>one", page)
    assert "<strong>bold</strong>" in page and "<msup>" in page


TIES = """\
title: Ties
model: en-fr
text: The animal didn't cross the street because it was too tired.

[question]
ask: Which is least?
tokens: source
answer: argmin(pattern[cross, 1, 3].at(writing="il"))
"""


def test_each_of_several_tokens_that_look_equal_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "ties.md").write_text(TIES, encoding="utf-8")
    monkeypatch.setenv("HEADLIGHT_LESSONS", str(tmp_path))
    page = saved("own.ties")
    assert page.count("data-right='True'") > 1 and page.count("data-right='False'") > 0
    assert "data-correct='Correct: \ue002.'" in page  # the given one
