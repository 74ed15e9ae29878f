"""How a teacher writes a lesson: the file format, and every name that it can use."""

from collections.abc import Iterable

import streamlit as st

from headlight.language import say
from pages.learn.tour import lessons
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.evidence import OF_SIX_WORDS
from pages.learn.tour.lesson_engine.functions import NAMES
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from pages.learn.tour.lesson_engine.quantity import QUANTITIES
from pages.shared import prose
from transformer_core.errors import mark

EXAMPLE = """title: Where does it look?
model: en-fr
text: The cat sees the dog.
attention: cross
layer: 1
head: 0

Some **Markdown**, with numbers of the model: {{max(pattern[cross, 1, 0].at(writing="chat")) : 2}}.

[figure]
kind: head

[question]
ask: Which word does the head look at to write “chat”?
tokens: source
answer: argmax(pattern[cross, 1, 0].at(writing="chat"))

What comes after a question is shown once it is answered.

[check]
claim: Each row adds up to 1.
holds: isclose(sum(pattern[cross, 1, 0], over=key), 1, within=1e-5)

[link]
page: heads
label: Open this head
"""
HOW = mark(
    "A lesson is a text file like this one, with the extension .md, in the folder {folder}. "
    "It is reloaded whenever it changes. If it contains an error, the page shows the line."
)


def show() -> None:
    """Draw the instructions, folded."""
    title = say("Write your own lesson")
    with st.expander(prose.plain(title), icon=":material/edit_note:", key="tour-writing", on_change="rerun") as folded:
        if not folded.open:
            return
        text = say(HOW, folder=str(lessons.own_folder()))
        prose.html("<p class='hl-lead'>{}</p>", text)
        st.code(EXAMPLE, language="markdown")
        for title, rows in _lists():
            prose.html(
                "<h3 class='hl-subtitle'>{}</h3><div class='hl-tour-names'><table><tbody>{}</tbody></table></div>",
                title,
                prose.each("<tr><td><code>{}</code></td><td>{}</td></tr>", rows),
            )


def _lists() -> Iterable[tuple[str, list[tuple[str, str]]]]:
    """Yield the names that lessons can use: figures, quantities, functions, mistakes and pages."""
    yield (
        say("Figures"),
        [(f"kind: {name}", f"{say(kind.meaning)} ({', '.join(kind.parameters)})") for name, kind in KINDS.items()],
    )
    quantities = [(f"{name}[{one.parts}]" if one.parts else name, say(one.meaning)) for name, one in QUANTITIES.items()]
    yield say("Quantities of the model"), quantities + [(name, say(meaning)) for name, meaning in OF_SIX_WORDS.items()]
    chosen = [
        ('.at(query=3, key="cat")', say("the value at one position of an axis, by index or by token")),
        ('.at(writing="chat")', say("the row that predicts this token")),
        ("right.pattern[…]", say("the same for the correct model")),
        ("other.pattern[…]", say("the same for the lesson’s other text")),
        ("isclose(a, b, within=0.01)", say("True if two values differ by at most a tolerance")),
        (", ".join(NAMES), say("functions; “over=key” applies them along an axis")),
    ]
    yield say("Operators and selection"), chosen
    yield say("Mistakes"), [(f"mistake: {name}", say(one.title)) for name, one in MISTAKES.items()]
    yield say("Pages"), [(f"page: {name}", ", ".join(fields)) for name, fields in lessons.linked().items()]
