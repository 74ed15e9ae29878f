"""A chapter as one file that opens in any browser without a network, with its figures and its questions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from headlight.figures import Figure
from headlight.figures.offline import PAGE, STYLE, drawing
from headlight.language import language, say, say_message, speaking
from pages.learn.tour import figure
from pages.learn.tour.lesson_engine import judging
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.drawn import Drawn, FigureData, LessonTable, Plot, Strip
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.lesson import FigureSpec, Lesson, LessonError, Part, Prose, Question
from pages.shared import prose
from transformer_core.errors import HeadlightError

_HERE = Path(__file__).parent
_SHEETS = ("figure.css", "question.css", "saved/saved_chapter.css")  # the last in a folder: the app has those beside it
_STYLES = "\n".join(_HERE.joinpath(sheet).read_text("utf-8") for sheet in _SHEETS)
_SCRIPT = _HERE.joinpath("saved_chapter.js").read_text("utf-8")
GIVEN = "\ue002"  # place of the reader's answer in a sentence


def offer(lesson: Lesson, rows: Sequence[Any], evidence: Evidence) -> None:
    """Draw the button that saves a chapter.

    Args:
        lesson: the chapter.
        rows: of all its parts, each with `left` (texts and questions) and `figures`.
        evidence: its numbers.
    """
    figures = figures_of(lesson, rows, evidence)
    st.download_button(
        say("Save this chapter"),
        data=partial(saved, lesson, rows, evidence, figures, language()),
        file_name=f"{lesson.name}.html",
        mime="text/html",
        icon=":material/download:",
        type="tertiary",
        key=f"tour-{lesson.name}-save",
        help=prose.plain(say("One file with the figures and the questions; it opens in any browser, offline.")),
        on_click="ignore",
    )


def figures_of(lesson: Lesson, rows: Sequence[Any], evidence: Evidence) -> dict[int, FigureData]:
    """Return the data of each figure, by the id of its `FigureSpec`; arguments as for `offer`."""
    return {
        id(spec): figure.data_of(lesson, spec, evidence, f"{place}-{at}", is_trained=True)
        for place, row in enumerate(rows)
        for at, spec in enumerate(row.figures)
    }


def saved(lesson: Lesson, rows: Sequence[Any], evidence: Evidence, figures: dict[int, FigureData], reader: str) -> str:
    """Return a chapter as a self-contained HTML page, at most 3 MB; called later, outside of the session.

    Args:
        lesson: the chapter.
        rows: as for `offer`.
        evidence: its numbers.
        figures: of `figures_of`.
        reader: the language.
    """
    with speaking(reader):
        plots: dict[str, Figure] = {}
        above = " · ".join(filter(None, (lesson.group, lesson.section and f"§ {lesson.section}")))
        order = lesson.questions
        main = prose.markup(
            "<main><p class='hl-tour-kicker'>{}</p><h1>{}</h1>{}</main>",
            *(above, lesson.title, prose.joined("", [_row(row, evidence, figures, order, plots) for row in rows])),
        )
        body = f"{main}{drawing(plots) if plots else ''}<script type='module'>{_SCRIPT}</script>"
        title = prose.markup("{}", lesson.title)
        return PAGE.format(language=reader, title=title, style=f"{STYLE}{_STYLES}", body=body)


def _row(
    row: Any, evidence: Evidence, figures: dict[int, FigureData], order: Sequence[Question], plots: dict[str, Figure]
) -> prose.Markup:
    """Return a row; a figure that hides numbers until a question is answered is there once more without hiding them."""

    def after(part: Part) -> int:
        return sum(question.line < part.line for question in order)

    def states(spec: FigureSpec) -> Iterator[tuple[int, int | str, prose.Markup]]:
        hiding = {n: evidence.hiding(order[n:]) for n in range(after(spec), len(order) + 1)}
        drawn = {n: _drawn(replace(figures[id(spec)], evidence=numbers)) for n, numbers in hiding.items()}
        begins = [n for n in drawn if n - 1 not in drawn or _numbers(drawn[n]) != _numbers(drawn[n - 1])]
        ends: list[int | str] = [*begins[1:], ""]
        for n, until in zip(begins, ends, strict=True):
            yield n, until, _figure(drawn[n], plots)

    def parts(drawn: Iterator[tuple[int, int | str, prose.Markup]]) -> prose.Markup:
        return prose.each("<div class='part' data-after='{}' data-until='{}'>{}</div>", drawn)

    left = (
        (after(one), "", _calmly(_text if isinstance(one, Prose) else _question, one, evidence)) for one in row.left
    )
    right = (state for spec in row.figures for state in states(spec))
    return prose.markup("<section><div>{}</div><div>{}</div></section>", parts(left), parts(right))


def _calmly(write: Any, *given: Any) -> prose.Markup:
    """Return a part, or the error that it raises."""
    try:
        result: prose.Markup = write(*given)
        return result
    except HeadlightError as error:
        return _error(error)


def _error(error: HeadlightError) -> prose.Markup:
    what = error.what if isinstance(error, LessonError) else error.message
    return prose.markup("<p class='hl-small'>{}.</p>", say_message(what))


def _text(part: Prose, evidence: Evidence) -> prose.Markup:
    return prose.of_markdown(judging.prose(part, evidence))


def _drawn(data: FigureData) -> Drawn | HeadlightError:
    try:
        return KINDS[data.spec.kind].draw(data)
    except HeadlightError as error:
        return error


def _numbers(drawn: Drawn | HeadlightError) -> object:
    """Return the numbers of a figure, for comparison with another drawing of it."""
    return drawn.csv if isinstance(drawn, Plot) else drawn if isinstance(drawn, Strip | LessonTable) else None


def _figure(drawn: Drawn | HeadlightError, plots: dict[str, Figure]) -> prose.Markup:
    if isinstance(drawn, HeadlightError):
        words = _error(drawn)
    elif isinstance(drawn, Plot):
        name = f"figure-{len(plots)}"
        plots[name] = drawn.figure
        height = int(drawn.figure.layout.height or 400)
        words = prose.markup("<div id='{}' style='height: {}px'></div>", name, height)
    else:
        words = figure.strip_markup(drawn) if isinstance(drawn, Strip) else figure.table_markup(drawn)
    return prose.markup("<div class='figure'>{}</div>", words)


def _question(question: Question, evidence: Evidence) -> prose.Markup:
    verdict = judging.judge(question, evidence, "")
    labels: tuple[str, ...] = getattr(evidence.run.model_run, question.tokens) if question.tokens else ()
    options = [choice.text for choice in question.choices] or labels
    buttons = prose.each(  # several are correct where they look equal
        "<button type='button' name='answer' value='{}' data-right='{}'>{}</button>",
        ((option, judging.judge(question, evidence, option).is_right, option) for option in options),
    )
    typed = prose.markup(
        "<input name='typed' autocomplete='off' aria-label='{}' placeholder='{}'><button>{}</button>",
        *(say("Your answer"), say("number, then Enter"), say("Answer")),
    )
    hint = prose.markup("<details><summary>{}</summary>{}</details>", say("Hint"), prose.of_markdown(question.hint))
    wrong = say("You answered {given}. The correct answer is {right}.", given=GIVEN, right=verdict.right)
    return prose.markup(
        "<form class='question' data-kind='{}' data-value='{}' data-within='{}' data-correct='{}' "
        "data-wrong='{}' data-shown='{}' data-unread='{}'><p class='hl-tour-kicker'>{}</p>{}"
        "<div class='answers'>{}</div>{}<button type='button' name='reveal' class='link'>{}</button>"
        "<p class='hl-tour-verdict' role='status'></p>"
        "<button type='button' name='again' class='link' hidden>{}</button></form>",
        "choices" if question.choices else "tokens" if labels else "number",
        *("" if verdict.value is None else repr(verdict.value), question.within),
        *(
            say("Correct: {right}.", right=GIVEN if options else verdict.right),
            wrong,
            say("The answer is {right}.", right=verdict.right),
        ),
        *(say("Please enter a number, such as 28, 0.5 or sqrt(3)."), say("Your prediction")),
        *(prose.of_markdown(question.ask), buttons if options else typed, hint if question.hint else ""),
        *(say("Reveal answer"), say("Try again")),
    )
