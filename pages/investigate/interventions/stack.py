"""The stack: what is changed in the model, in order; it can be edited, saved and loaded."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from headlight.analysis.interventions.records import InterventionStack, StackEntry
from headlight.analysis.interventions.stacks import check_stack, from_json, to_json
from headlight.figures import isolate
from headlight.language import say
from pages.investigate.interventions import view_fields, words
from pages.investigate.interventions.components.stack_list import sent_stack, stack_list
from pages.investigate.interventions.data import InterventionsData
from pages.shared import drawing, prose
from pages.shared.view import stack_history
from pages.shared.view.fields import Kept
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError, HeadlightError, mark

EMPTY = mark("No intervention yet: the model runs unchanged. Add one below.")
ORDER = mark("They are applied from top to bottom: if two replace the same activation, the lower one counts.")
MOST_BYTES = 500_000  # maximum size of a file: a stack, and two texts of 30,000 characters
MOST_CHARS = 1000  # maximum characters of another text in an unabridged sentence
MOST_NAMED = 80  # maximum characters of a text that is quoted in a sentence
LIST = "interventions-list"  # the component's key
_NAME = Kept("interventions-name", "")
ADD_NOTE = Kept("interventions-note", "")  # why the last one could not be added
_NOTE = Kept("interventions-stack-note")  # why the changed stack cannot be taken
FILE = "headlight-interventions"  # name of the format in a saved stack
MODEL, TEXTS = "model", ("text", "second_text", "target")  # what it was made for
ELSEWHERE = Kept("interventions-stack-elsewhere", "")  # note that the loaded stack was made for something else
OF_MODEL = mark("This stack was saved with the model “{model}”, not with this one.")
OF_WEIGHTS = mark("This stack was saved with other weights of the model “{model}”.")
OF_TEXT = mark("This stack was saved on the text “{text}”, not on this one.")
OF_BOTH = mark("This stack was saved with the model “{model}” on the text “{text}”, not with this model on this text.")
OF_TARGET = mark("This stack was saved on this text with another target.")


def show(data: InterventionsData) -> None:
    """Draw the stack, with undo and redo."""
    current = view_fields.current()
    can_undo, can_redo = bool(stack_history.DONE.value), bool(stack_history.UNDONE.value)
    with st.container(key="hl-interventions-stack", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            prose.subheading(say("Stack"))
            _file(data, current)
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
    if elsewhere := ELSEWHERE.pop():
        prose.note(elsewhere)


def _misfit(data: InterventionsData, stack: InterventionStack, error: HeadlightError) -> str:
    """Return a sentence that says which intervention cannot be applied here, and why."""
    entry = next((entry for entry in stack.enabled if not _fits(data.card.config, entry)), None)
    if entry is None:
        return say("None of the interventions is applied: {why}.", why=error)
    return say(
        "None of the interventions is applied, because of “{entry}”: {why}. Switch it off, or choose another model.",
        entry=words.sentence(entry, data),
        why=error,
    )


def _fits(config: ModelConfig, entry: StackEntry) -> bool:
    try:
        check_stack(config, InterventionStack(entries=(entry,)))
    except HeadlightError:
        return False
    return True


def take() -> None:
    """Take the changed stack; a stack that is too long for the address changes nothing."""
    try:
        if (stack := sent_stack(LIST)) is not None:
            view_fields.change(stack)
    except HeadlightError as error:
        _NOTE.set(error)


def _file(data: InterventionsData, current: InterventionStack) -> None:
    with st.popover(say("File"), icon=":material/save:", type="tertiary"):
        st.download_button(
            say("Save the stack"),
            data=partial(written, current, data.card.path, _texts(data)),  # called later, outside of the session
            file_name="interventions.json",
            mime="application/json",
            disabled=not current.entries,
            on_click="ignore",
        )
        file = st.file_uploader(say("Load a stack"), type="json", key="interventions-file")
        if file is not None and st.button(say("Use this stack"), key="interventions-load"):
            try:
                stack, made_for = read(file.getvalue())
                view_fields.change(stack)
            except HeadlightError as error:
                prose.warning(prose.sentence(error))
            else:
                ELSEWHERE.set(elsewhere(made_for, data.card.path, _texts(data)))
                st.rerun(scope="fragment")


def _texts(data: InterventionsData) -> dict[str, str]:
    text, second = (data.view.text, None) if isinstance(data.view.text, str) else data.view.text
    return {name: of for name, of in zip(TEXTS, (text, second, data.view.target), strict=True) if of is not None}


def written(stack: InterventionStack, model: str, texts: Mapping[str, str]) -> bytes:
    """Return a stack as a file.

    Args:
        stack: that is saved.
        model: path of its model's folder, relative to the project's root.
        texts: that it was made for, by `TEXTS`.
    """
    values = {FILE: json.loads(to_json(stack)), MODEL: drawing.model_of(model), **texts}
    return json.dumps(values, indent=1, ensure_ascii=False).encode()


def elsewhere(made_for: Mapping[str, Any], model: str, texts: Mapping[str, str]) -> str:
    """Return a note if a stack was saved with another model or text, else "".

    Args:
        made_for: as `read` gives it.
        model: the folder of the model that is here.
        texts: that it reads, as for `written`.
    """
    theirs, own = made_for.get(MODEL), drawing.model_of(model)
    is_model = theirs is None or theirs.get("sha256", theirs["path"]) == own.get("sha256", own["path"])
    text, read_here = ([of[name] for name in TEXTS[:2] if name in of] for of in (made_for, texts))
    is_text = not text or text == read_here
    if is_model and is_text:
        has_target = not text or made_for.get("target") == texts.get("target")
        return "" if has_target else say(OF_TARGET)
    sentence = OF_TEXT if is_model else OF_MODEL if is_text else OF_BOTH
    if is_text and theirs and theirs["path"] == own["path"]:
        sentence = OF_WEIGHTS
    name = Path(theirs["path"]).name if theirs else ""
    return say(sentence, model=isolate(name[:60]), text=words.cut(" / ".join(text), MOST_NAMED))


def read(content: bytes) -> tuple[InterventionStack, dict[str, Any]]:
    """Return the stack in a file, and the model and texts that it was made for, as far as the file names them.

    Raises:
        ConfigError: the file holds no stack, or an invalid one.
    """
    if len(content) > MOST_BYTES:
        raise ConfigError(
            "this file has {n:,} bytes, and a saved stack at most {most:,}; choose another file",
            n=len(content),
            most=MOST_BYTES,
        )
    try:
        values = json.loads(content)
        entries = values[FILE]
    except (ValueError, RecursionError, TypeError, LookupError) as error:
        raise ConfigError("this file contains no stack of interventions; choose one that was saved here") from error
    made_for: dict[str, Any] = {name: values[name] for name in TEXTS if isinstance(values.get(name), str)}
    if isinstance(model := values.get(MODEL), dict) and isinstance(model.get("path"), str):
        made_for[MODEL] = model
    return from_json(json.dumps(entries, ensure_ascii=False, separators=(",", ":"))), made_for


def add_button(make: Callable[[], StackEntry], *, after: Callable[[], None] = lambda: None) -> None:
    """Draw the button that adds the intervention to the stack; `after` is called once it is added."""

    def add() -> None:
        try:
            view_fields.add(replace(make(), name=str(_NAME.pop()).strip()))
        except HeadlightError as error:
            ADD_NOTE.set(prose.sentence(error))
        else:
            after()

    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            say("Add to the stack"),
            key="interventions-add-it",
            type="primary",
            icon=":material/add:",
            on_click=add,
        )
        _NAME.text(say("Name"), placeholder=say("Name (optional)"), max_chars=60, label_visibility="collapsed")
