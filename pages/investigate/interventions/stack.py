"""The stack: what is changed in the model, in order; each intervention can be switched off, moved or removed."""

import json
from dataclasses import replace

import streamlit as st

from pages.investigate.interventions import view_fields, words
from pages.investigate.interventions.data import InterventionsData
from pages.shared import prose
from pages.shared.view.fields import Kept
from transformer_core.analysis.interventions import Entry, Stack, from_json, to_json
from transformer_core.errors import HeadlightError, mark
from transformer_core.language import say

EMPTY = mark("No intervention yet: the model runs unchanged. Add one below.")
MOST_BYTES = 64_000  # of a file
FILE = "headlight-interventions"  # what a saved stack says that it is


def show(data: InterventionsData) -> None:
    """Draw the stack, and what leads back and on."""
    entries = view_fields.current().entries
    with st.container(key="hl-interventions-stack", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            prose.subheading(say("Stack"))
            _bar(bool(entries))
        if not entries:
            prose.small(say(EMPTY))
        for index, entry in enumerate(entries):
            _entry(index, entry, len(entries))
    if data.error is not None:
        prose.warning(prose.sentence(data.error))


def _bar(has_entries: bool) -> None:
    """Draw undo, redo, clear, save and load."""
    st.button(
        say("Undo"),
        key="interventions-undo",
        icon=":material/undo:",
        type="tertiary",
        disabled=not view_fields.can_undo(),
        on_click=view_fields.undo,
    )
    st.button(
        say("Redo"),
        key="interventions-redo",
        icon=":material/redo:",
        type="tertiary",
        disabled=not view_fields.can_redo(),
        on_click=view_fields.redo,
    )
    st.button(
        say("Clear"),
        key="interventions-clear",
        icon=":material/clear_all:",
        type="tertiary",
        disabled=not has_entries,
        on_click=view_fields.change,
        args=(Stack(),),
    )
    with st.popover(say("File"), icon=":material/save:", type="tertiary"):
        st.download_button(
            say("Save the stack"),
            data=lambda: written(view_fields.current()),
            file_name="interventions.json",
            mime="application/json",
            disabled=not has_entries,
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


def _entry(index: int, entry: Entry, n: int) -> None:
    """Draw one intervention, with its switch and what moves or removes it."""
    with st.container(key=f"hl-intervention-{index}", horizontal=True, vertical_alignment="center", gap="small"):
        Kept(f"interventions-entry-{index}").toggle(
            say("Intervention {n} is active", n=index + 1),
            shown=entry.enabled,
            label_visibility="collapsed",
            take=lambda is_on: view_fields.edit(index, lambda entry: replace(entry, enabled=is_on)),
        )
        prose.html("<p class='hl-intervention'>{}</p>", words.sentence(entry))
        arrows = (("arrow_upward", say("Act earlier"), -1), ("arrow_downward", say("Act later"), 1))
        for icon, help_text, by in arrows if n > 1 else ():
            st.button(
                "",
                key=f"interventions-{icon}-{index}",
                icon=f":material/{icon}:",
                help=prose.plain(help_text),
                type="tertiary",
                disabled=not 0 <= index + by < n,
                on_click=view_fields.move,
                args=(index, by),
            )
        st.button(
            "",
            key=f"interventions-remove-{index}",
            icon=":material/delete:",
            help=say("Remove"),
            type="tertiary",
            on_click=view_fields.edit,
            args=(index, lambda _: None),
        )
