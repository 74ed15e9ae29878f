"""What the model says beside the text: its words, how probable they are, and what is held back of it."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from pages.shared import answer, prose
from pages.shared.view import state


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is drawn, as HTML."""
    drawn: list[str] = []
    monkeypatch.setattr(prose, "html", lambda pattern, *parts: drawn.append(str(prose.markup(pattern, *parts))))
    return drawn


def with_text(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(state, "current", lambda: SimpleNamespace(text=text))


@pytest.mark.parametrize(
    ("value", "words"),
    [(1.0, "1.00"), (0.994, "0.99"), (0.005, "0.01"), (0.00499, "below 0.01"), (0.0, "below 0.01")],
)
def test_no_probability_looks_like_zero(value: float, words: str):
    assert answer.probability(value) == words


@pytest.mark.parametrize(
    ("output", "is_complete", "words"),
    [
        *((" and the dog.", False, "… and the dog."), ("caf\ufffd\ufffd", False, "… caf")),  # the limit cut a letter
        *(("  ", True, "(end of sequence)"), ("", False, "… "), ("end.", True, "… end.")),
    ],
)
def test_a_continuation_goes_on_from_three_dots(output: str, is_complete: bool, words: str):
    assert answer._going_on(SimpleNamespace(output=output, is_complete=is_complete)) == words  # type: ignore[arg-type]


def test_without_a_target_nothing_is_said_of_its_probability():
    def run(mean: float) -> Any:
        return SimpleNamespace(mean_probability=mean)

    assert answer._mean_probability(run(math.nan)) == "" == answer._probability_line(run(math.nan))
    assert "0.25" in answer._mean_probability(run(0.25)) and "0.25" in str(answer._probability_line(run(0.25)))


def test_each_of_the_first_blanks_has_a_line_of_candidates():
    one, other = SimpleNamespace(label="<cat>", probability=0.5), SimpleNamespace(label="dog", probability=0.001)
    blanks = (SimpleNamespace(candidates=(one, other)),) + (SimpleNamespace(candidates=(other,)),) * answer.MAX_BLANKS
    lines = str(answer._candidates(blanks)).split("<div>")
    assert len(lines) == 1 + answer.MAX_BLANKS
    assert "<bdi>&lt;cat&gt;</bdi> 0.50" in lines[1] and "<bdi>dog</bdi> below 0.01" in lines[1]
    assert "cat" not in lines[2]


def test_the_line_opens_to_a_text_that_its_box_does_not_show_whole(monkeypatch: pytest.MonkeyPatch, shown: list[str]):
    for n in (answer.SEEN_WHOLE, answer.SEEN_WHOLE + 1):
        with_text(monkeypatch, "x" * n)
        answer.line("Output", "le <chat>", "hl-cut", beside="0.50", more=prose.markup("<p>{}</p>", "more"))
    short, long = shown
    assert "x" not in short and f">{'x' * (answer.SEEN_WHOLE + 1)}" in long
    for drawn in shown:
        summary, _, below = drawn.partition("</summary>")
        assert (
            "<span class='hl-answer hl-cut' dir='auto'>le &lt;chat&gt;</span>0.50" in summary and "<p>more</p>" in below
        )
