"""The stack as a list: each intervention is switched on and off, dragged to another place, or removed.

What a person makes of it comes back as triggers of the component's key, each for one run; `sent_stack` gives the stack.
One element holds the whole list, since a browser draws all elements of a page anew whenever one changes.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from pages.components.mounting import component
from pages.shared.view.fields import sent
from transformer_core.analysis.interventions import Entry, Stack, from_json, to_json


def stack_list(
    entries: Sequence[Entry],
    sentences: Sequence[str],
    *,
    key: str,
    on_stack: Callable[[], None],
    on_undo: Callable[[], None] | None,
    on_redo: Callable[[], None] | None,
) -> None:
    """Draw the list.

    Args:
        entries: in the order in which they act.
        sentences: what each of them does.
        key: the component's key.
        on_stack: called before the run in which `sent_stack` gives what a person made of the stack.
        on_undo: leads back to the stack before; None: there is none.
        on_redo: leads on to the stack that was undone; None: there is none.
    """
    data = {
        "entries": [
            {"sentence": sentence, "isActive": entry.enabled, "entry": _written(replace(entry, enabled=True))}
            for entry, sentence in zip(entries, sentences, strict=True)
        ],
        "canUndo": on_undo is not None,
        "canRedo": on_redo is not None,
    }
    component(__file__, "stack_list", isolated=True)(
        key=key,
        data=data,
        on_stack_change=on_stack,
        on_undo_change=on_undo or _nothing,
        on_redo_change=on_redo or _nothing,
    )


def sent_stack(key: str) -> Stack | None:
    """Return the stack that a person made; None: they made none. To be called in the callback.

    Raises:
        ConfigError: it is no stack.
    """
    match sent(key, "stack"):
        case [*entries]:
            return from_json(json.dumps(entries, ensure_ascii=False, separators=(",", ":")))
    return None


def _written(entry: Entry) -> dict[str, object]:
    (written,) = json.loads(to_json(Stack(entries=(entry,))))
    return dict(written)


def _nothing() -> None:
    """Do nothing; what there is no stack for cannot be pressed."""
