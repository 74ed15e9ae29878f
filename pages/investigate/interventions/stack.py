"""The stack: what is changed in the model, in order; it can be edited, saved and loaded."""

import json
from functools import partial

import streamlit as st

from pages.investigate.interventions import view_fields, words
from pages.investigate.interventions.components.stack_list import sent_stack, stack_list
from pages.investigate.interventions.data import InterventionsData
from pages.shared import prose
from pages.shared.view.fields import Kept
from transformer_core.analysis.interventions.checking import check_stack
from transformer_core.analysis.interventions.records import Entry, Stack
from transformer_core.analysis.interventions.stack_json import from_json, to_json
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError, HeadlightError, mark
from transformer_core.language import say

EMPTY = mark("No intervention yet: the model runs unchanged. Add one below.")
ORDER = mark("They act from top to bottom: of two that replace the same activation, the lower one counts.")
MOST_BYTES = 64_000  # of a file
MOST_CHARS = 1000  # of another text, where it is shown as a whole
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
                [words.does(entry, data) for entry in current.entries],
                [words.does(entry, data, most=MOST_CHARS) for entry in current.entries],
                key=LIST,
                can_undo=can_undo,
                can_redo=can_redo,
                on_stack=take,
                on_undo=view_fields.undo,
                on_redo=view_fields.redo,
            )
        if len(current.enabled) > 1:
            prose.small(say(ORDER))
    if data.error is not None:
        prose.warning(_misfit(data, current, data.error))
    if (error := _NOTE.pop()) is not None:
        prose.warning(prose.sentence(error))


def _misfit(data: InterventionsData, stack: Stack, error: HeadlightError) -> str:
    """Return which intervention cannot be applied here, and what follows."""
    entry = next((entry for entry in stack.enabled if not _fits(data.card.config, entry)), None)
    if entry is None:
        return say("None of the interventions is applied: {why}.", why=error)
    return say(
        "None of the interventions is applied, because of “{entry}”: {why}. Switch it off, or choose another model.",
        entry=words.sentence(entry, data),
        why=error,
    )


def _fits(config: ModelConfig, entry: Entry) -> bool:
    try:
        check_stack(config, Stack(entries=(entry,)))
    except HeadlightError:
        return False
    return True


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
        ConfigError: it holds none, or one that makes no sense.
    """
    if len(content) > MOST_BYTES:
        raise ConfigError(
            "this file has {n:,} bytes, and a saved stack at most {most:,}; choose another file",
            n=len(content),
            most=MOST_BYTES,
        )
    try:
        values = json.loads(content)[FILE]
    except (ValueError, RecursionError, TypeError, LookupError) as error:
        raise ConfigError("this file holds no stack of interventions; choose one that was saved here") from error
    return from_json(json.dumps(values, ensure_ascii=False, separators=(",", ":")))
