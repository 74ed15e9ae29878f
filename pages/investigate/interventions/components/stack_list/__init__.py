"""The stack as a list: each intervention can be switched on and off, renamed, dragged to another place, or removed.

A changed list comes back as a trigger of the component's key, for one run; `sent_stack` gives the stack. The whole list
is one element, since a browser renders all elements of a page again whenever one changes.
"""

import json
from collections.abc import Callable, Sequence

from headlight.analysis.interventions.records import InterventionStack
from headlight.analysis.interventions.stacks import from_json, to_json
from pages.components.mounting import component
from pages.shared.view.fields import sent


def stack_list(
    stack: InterventionStack,
    sentences: Sequence[str],
    whole: Sequence[str],
    *,
    key: str,
    can_undo: bool,
    can_redo: bool,
    on_stack: Callable[[], None],
    on_undo: Callable[[], None],
    on_redo: Callable[[], None],
) -> None:
    """Draw the list.

    Args:
        stack: its entries, in the order in which they act.
        sentences: what each of them does, in few words.
        whole: the same with unabridged texts, shown under the pointer.
        key: the component's key.
        can_undo: whether there is a stack to go back to.
        can_redo: whether the last change was undone.
        on_stack: called before the run in which `sent_stack` gives the changed stack.
        on_undo: called when a person undoes a change.
        on_redo: called when a person redoes a change.
    """
    entries = zip(json.loads(to_json(stack)), sentences, whole, strict=True)
    data = {
        "entries": [{"entry": entry, "sentence": one, "whole": all_of_it} for entry, one, all_of_it in entries],
        "canUndo": can_undo,
        "canRedo": can_redo,
    }
    component(__file__, "stack_list", isolated=True)(
        key=key, data=data, on_stack_change=on_stack, on_undo_change=on_undo, on_redo_change=on_redo
    )


def sent_stack(key: str) -> InterventionStack | None:
    """Return the changed stack; None: it was not changed. Call it in the callback.

    Raises:
        ConfigError: the sent value is not a valid stack.
    """
    written = sent(key, "stack")
    return from_json(written) if isinstance(written, str) else None
