"""The stack: what is changed in the model, in order; it can be edited, saved and loaded."""

import json
from functools import partial

import streamlit as st

from pages.investigate.interventions import view_fields, words
from pages.investigate.interventions.components.stack_list import sent_stack, stack_list
from pages.investigate.interventions.data import InterventionsData
from pages.shared import prose
from pages.shared.view.fields import Kept
from transformer_core.analysis.interventions import Stack, from_json, to_json
from transformer_core.errors import HeadlightError, mark
from transformer_core.language import say

EMPTY = mark("No intervention yet: the model runs unchanged. Add one below.")
MOST_BYTES = 64_000  # of a file
LIST = "interventions-list"  # the component's key
_NOTE = Kept("interventions-stack-note")  # why the changed stack cannot be taken
FILE = "headlight-interventions"  # what a saved stack says that it is


def show(data: InterventionsData) -> None:
    """Draw the stack, and what leads back and on."""
    current = view_fields.current()
    can_undo, can_redo = view_fields.can_undo(), view_fields.can_redo()
    with st.container(key="hl-interventions-stack", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            prose.subheading(say("Stack"))
            _file(current)
        if not current.entries:
            prose.small(say(EMPTY))
        if current.entries or can_undo or can_redo:
            stack_list(
                current,
                [words.sentence(entry) for entry in current.entries],
                key=LIST,
                can_undo=can_undo,
                can_redo=can_redo,
                on_stack=take,
                on_undo=view_fields.undo,
                on_redo=view_fields.redo,
            )
    for error in (data.error, _NOTE.pop()):
        if error is not None:
            prose.warning(prose.sentence(error))


def take() -> None:
    """Take the changed stack; one that is too long for the address leaves everything as it was."""
    try:
        if (stack := sent_stack(LIST)) is not None:
            view_fields.change(stack)
    except HeadlightError as error:
        _NOTE.set(error)


def _file(current: Stack) -> None:
    """Draw what saves and loads a stack."""
    with st.popover(say("File"), icon=":material/save:", type="tertiary"):
        st.download_button(
            say("Save the stack"),
            data=partial(written, current),  # called later, outside of the session
            file_name="interventions.json",
            mime="application/json",
            disabled=not current.entries,
            on_click="ignore",
        )
        file = st.file_uploader(say("Load a stack"), type="json", key="interventions-file")
        if file is not None and st.button(say("Use this stack"), key="interventions-load"):
            try:
                view_fields.change(read(file.getvalue()))
            except HeadlightError as error:
                prose.warning(prose.sentence(error))
            else:
                st.rerun(scope="fragment")


def written(stack: Stack) -> bytes:
    """Return a stack as a file."""
    return json.dumps({FILE: json.loads(to_json(stack))}, indent=1, ensure_ascii=False).encode()


def read(content: bytes) -> Stack:
    """Return the stack of a file.

    Raises:
        ConfigError: it holds none.
    """
    try:
        values = json.loads(content[:MOST_BYTES])[FILE]
    except (ValueError, RecursionError, TypeError, LookupError):
        values = None
    return from_json(json.dumps(values, ensure_ascii=False, separators=(",", ":")))
