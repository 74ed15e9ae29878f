"""The form for weights of an unknown layout: the nearest layout, and a mapping that is checked line by line."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import streamlit as st

from headlight.language import say, say_message, say_number
from pages.models.model_store import ImportRequest
from pages.shared import prose
from pages.shared.view.fields import Kept
from transformer_core.checkpoints.mapping.draft import draft
from transformer_core.checkpoints.mapping.layout import problems
from transformer_core.checkpoints.mapping.rules import MAPPING, Problem
from transformer_core.checkpoints.nearest import UnknownLayoutError
from transformer_core.errors import mark

MOST_NAMED = 12  # names of a kind
HELP = mark(
    "Each line is a key of the file, =, and the name of our parameter. * stands for the number of a layer; names in "
    "braces, as in self_attn.{q,k,v}.weight, split a tensor into equal parts; T at the end transposes it; - leaves it "
    "out. Options such as n_heads = 8 may be given, too. Lines after # are comments."
)
_TEXT = Kept("import-mapping")  # (request, text)


def show(request: ImportRequest, error: UnknownLayoutError, discard: Callable[[], Any]) -> Mapping[str, Any] | None:
    """Draw the form; return the mapping after a press on Import."""
    prose.html("<div class='hl-model'>{}</div>", say("{model} has an unknown layout", model=request.title))
    nearest = error.nearest
    if nearest is None:
        prose.small(say("No known layout has similar names. A mapping can describe it."))
    else:
        prose.small(
            say(
                "The nearest known layout is {name}; {n} of {in_all} names fit. A mapping can describe the others.",
                name=nearest.name,
                n=len(nearest.fitting),
                in_all=len(nearest.fitting) + len(nearest.unknown),
            )
        )
        prose.html(
            "<div class='hl-names'>{}</div>",
            prose.each(
                "<span>{}</span><span>{}</span>",
                [
                    (say("fit"), _named(nearest.fitting)),
                    (say("unknown"), _named(nearest.unknown)),
                    (say("not in the file"), _named(nearest.missing)),
                ],
            ),
        )
    written = _TEXT.value
    text = written[1] if written and written[0] is request else draft(error.shapes, nearest)

    def take(changed: str) -> None:
        _TEXT.set((request, changed))

    _TEXT.text_area(say("Mapping"), shown=text, take=take, height=320, help=prose.plain(say(HELP)))
    wrong = problems(text, error.shapes, request.options)
    if wrong:
        prose.html(
            "<ul class='hl-problems'>{}</ul>",
            prose.each("<li>{}</li>", [_in_words(problem) for problem in wrong[:MOST_NAMED]]),
        )
        if len(wrong) > MOST_NAMED:
            prose.small(say_number(len(wrong) - MOST_NAMED, "{n} more problem", "{n} more problems"))
    with st.container(horizontal=True):
        look: Literal["primary", "secondary"] = "secondary" if wrong else "primary"
        is_complete = st.button(say("Import"), type=look, key="import-mapping-button", disabled=bool(wrong))
        st.button(say("Discard"), key="import-discard", on_click=discard)
    return {MAPPING: text} if is_complete else None


def _named(names: Iterable[str]) -> str:
    names = [*names]
    return ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "") or "–"


def _in_words(problem: Problem) -> str:
    """Return a problem as a sentence, with the number of its line."""
    if not problem.line:
        return say_message(problem.why)
    return say("Line {line}: {why}", line=problem.line, why=problem.why)
