"""The fields of the Compare page; side A's model, text and head come from the bar.

Each side has its weights, its head and its interventions; side B has its own text as well.
"""

import re
from collections.abc import Sequence

import streamlit as st

from headlight.analysis.heads.many_texts import MEASURES
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.interventions.records import InterventionStack
from headlight.analysis.interventions.stacks import from_json, to_json
from headlight.language import say, say_message
from pages.explore.compare import ablation
from pages.shared import prose
from pages.shared.view import long_texts, state
from pages.shared.view.fields import Field, Kept, number_pair, one_of, text_up_to, write_pair
from transformer_core.errors import HeadlightError, mark
from transformer_core.text.interface import Given

PAGE = "compare"
MOST_TYPED = 1000  # characters of B's text, and of a text of a list
MOST_LISTED = 4000  # characters of a pasted list that an address can hold
LONG_LIST = Kept("compare-long-list", "")  # a pasted list too long for an address
_VISITED = Kept("compare-visited", False)  # whether the page was opened before
NEW_TEXT = Kept("compare-new-text", False)  # whether the text of the bar, which is drawn before the page, was changed
NEW_CHANGE = Kept("compare-new-change", False)  # whether heads to ablate were just chosen
CHANGE_NOTE = Kept("compare-change-note", "")  # why the chosen heads cannot be ablated
_IN_OLDER_LINKS = {"off": "zero", "even": "uniform"}  # off:cross.1.2+cross.1.3
_HEAD = re.compile(r"([a-z]{1,20})\.(\d{1,4})\.(\d{1,4})")


def _head(text: str) -> HeadName:
    """Read a head, such as "cross.1.2".

    Raises:
        ValueError: the format is invalid.
    """
    match = _HEAD.fullmatch(text)
    if not match:
        raise ValueError(say("the format is attention.layer.head: cross.1.2"))
    return HeadName(match[1], int(match[2]), int(match[3]))


def written_head(head: HeadName) -> str:
    """Return a head in the format of links."""
    return f"{head.attention}.{head.layer}.{head.head}"


def _stack(text: str) -> InterventionStack:
    """Read the interventions of a side.

    Raises:
        ValueError: the text is neither valid JSON nor in the format of older links.
    """
    method, _, heads = text.partition(":")
    try:
        if method in _IN_OLDER_LINKS:
            return ablation.ablation(_IN_OLDER_LINKS[method], map(_head, heads.split("+")))
        return from_json(text) if text else InterventionStack()
    except HeadlightError as error:
        raise ValueError(say_message(error)) from None


CELL_FORMAT = mark("the format is query.key as positions: 7.12")
VIEW = Field(PAGE, "view", "one", one_of("one", "changed", "effect", "map", "layers", "texts"))
WEIGHTS_A = Field(PAGE, "at", "", text_up_to(100))  # "": the bar's model; "run@step": a snapshot of a training
WEIGHTS_B = Field(PAGE, "with", "", text_up_to(100))  # "": A's; a model's name; "run@step"
TEXT_B: Field = Field(PAGE, "btext", None, lambda text: short(text))  # "": A's; None: A's, or chosen if B would equal A
SECOND_TEXT_B = Field(PAGE, "bsecond", "", lambda text: short(text))  # "": A's if TEXT_B is A's, else none
HEAD_A: Field = Field(PAGE, "ahead", None, _head, written_head)  # of a training snapshot; None: the bar's
HEAD_B: Field = Field(PAGE, "bhead", None, _head, written_head)  # None: A's
CHANGE_A: Field = Field(PAGE, "change", InterventionStack(), _stack, to_json)  # after those of the bar's model
CHANGE_B: Field = Field(PAGE, "bchange", InterventionStack(), _stack, to_json)
B_WRITES = Field(PAGE, "writes", "", one_of("", "own"))  # "": A's output if it can be forced; "own": B's
CELL: Field = Field(PAGE, "cell", None, number_pair(CELL_FORMAT), write_pair)  # query and key, among the paired tokens
ALIKE = Field(PAGE, "by", "looking", one_of("looking", "writing"))  # similarity of the heads on the map
ON_MAP = Field(PAGE, "heads", "both", one_of("both", "a"))
TEXTS = Field(PAGE, "texts", "examples", one_of("examples", "corpus", "list"))
LIST = Field(PAGE, "list", "", text_up_to(MOST_LISTED))  # one text per line
MEASURE = Field(PAGE, "measure", "entropy", one_of(*MEASURES))

OF_SIDES = (WEIGHTS_A, WEIGHTS_B, TEXT_B, SECOND_TEXT_B, HEAD_A, HEAD_B, CHANGE_A, CHANGE_B, B_WRITES)
FIELDS: tuple[Field, ...] = (VIEW, *OF_SIDES, CELL, ALIKE, ON_MAP, TEXTS, LIST, MEASURE)


def short(text: str) -> str:
    """Return a text, cut to the maximum length."""
    return long_texts.clean(text)[:MOST_TYPED]


def choose_head_a(head: HeadName) -> None:
    """Set side A's head in the bar, and on its own for a training snapshot, as the bar's model may have fewer heads."""
    HEAD_A.set(head if WEIGHTS_A.value else None)
    state.SHOWN_HEAD.set(*head)


def choose_head_b(head: HeadName | None) -> None:
    """Set side B's head; None: the same as A's, even if B then equals A."""
    if head is None and TEXT_B.value is None:
        TEXT_B.set("")
    HEAD_B.set(head)


def open_both(head: HeadName) -> None:
    """Show a head in both sides."""
    HEAD_B.set(None)
    open_on("A", head)


def open_on(letter: str, head: HeadName) -> None:
    """Show a head of one side."""
    if letter == "A":
        choose_head_a(head)
    else:
        HEAD_B.set(head)
    VIEW.set("one")
    CELL.set(None)


def open_text(text: Given) -> None:
    """Put a text into the bar, and let side B read it too."""
    TEXT_B.set(None)
    SECOND_TEXT_B.set("")
    VIEW.set("one")
    CELL.set(None)
    NEW_TEXT.set(True)
    first, second = (text, "") if isinstance(text, str) else text
    state.on_example(first)
    state.SECOND_TEXT.set(second)


def ablate(field: Field, method: str, heads: Sequence[HeadName]) -> None:
    """Ablate heads of a side with a method; without heads, ablate nothing."""
    try:
        field.set(ablation.ablation(method, heads))
    except HeadlightError as error:
        CHANGE_NOTE.set(prose.sentence(error))
    NEW_CHANGE.set(bool(field.value.entries))


def is_first_visit(usual: HeadName) -> bool:
    """Return True only on the first visit, and only if the model's default head is still chosen."""
    was_here = _VISITED.value
    _VISITED.set(True)
    view = state.current()
    return not was_here and state.HEAD.key not in st.query_params and (view.attention, view.layer, view.head) == usual


def listed() -> str:
    """Return the pasted list."""
    return str(LIST.value or LONG_LIST.value)


def take_list(text: str) -> None:
    """Store a pasted list; one that is too long for an address stays in the session."""
    is_long = len(text) > MOST_LISTED
    LONG_LIST.set(text if is_long else "")
    LIST.set("" if is_long else text)
