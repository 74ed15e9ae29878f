"""A live plotly figure: it keeps its place while its data changes, its cells can be chosen, and it can be saved.

What is chosen comes back as triggers of the component's key, each for one run; `sent_cell` and `sent_window` check them
like any input.
"""

import base64
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pandas  # noqa: F401  # as a whole: plotly, too, looks whether it is there, and fails while it is being loaded

from headlight.figures import DARK, LIGHT, Figure, template
from headlight.language import language, speaking
from pages.components.mounting import component
from pages.shared.view import state
from pages.shared.view.fields import sent


def live_figure(
    figure: Figure,
    *,
    name: str,
    key: str,
    files: Callable[[], Mapping[str, bytes]],
    height: int | None = None,
    cell: tuple[int, int] | None = None,
    is_window: bool = False,
    on_cell: Callable[[], None] | None = None,
    on_window: Callable[[], None] | None = None,
    stays_whole: bool = False,
    link: str | None = None,
    preview: Mapping[str, Any] | None = None,
    about: str | None = None,
    opens: bool = False,
) -> None:
    """Draw a plotly figure that keeps its place on the page while its data changes, with a menu to save it.

    A heatmap is read with the pointer or the arrow keys. Its cells lie at integer positions, the places in the whole
    text, keys along x and queries along y. A click or Enter chooses a cell, a second one or Escape deselects it; a box
    drawn with the pointer asks for a window of the text. In an overview, where a cell stands for several places, a
    click asks for the window that lies in it.

    Args:
        figure: it takes the width and height of its place.
        name: of the files that are saved, without their endings.
        key: the component's key.
        files: the numbers in the figure and what explains them, as `drawing.files` makes them; called when a person
            opens the menu.
        height: px; None: that of the stage.
        cell: the chosen cell, query and key, which the figure marks.
        is_window: whether the figure shows a part of the text; then a button, or a double click, asks for all of it.
            The same as a true `window` in the layout's meta.
        on_cell: called before the run in which `sent_cell` gives what a person chose.
        on_window: called before the run in which `sent_window` gives what a person wants to see larger.
        stays_whole: a drawn box only requests a window, and the figure does not zoom in.
        link: figures of the same link on a page are pointed at together.
        preview: which head's pattern it is, so that another one that is clicked in the overview is seen at once, from
            its picture there: attention, layer, head; title, with {layer} and {head}; and the name of the trace.
        about: what it is of, for the page that can be saved; plain text. None: the model or training, and the text.
        opens: whether the menu of what can be saved is open from the start.
    """
    request = sent(key, "open")
    answer = None
    if isinstance(request, int):
        answer = {file: base64.b64encode(content).decode() for file, content in files().items()}
    data = {
        "figure": figure.to_json(),
        "templates": _templates(language()),
        "name": name,
        "height": height,
        "files": answer,
        "answers": request if answer is not None else None,
        "clicks": on_cell is not None,
        "windows": on_window is not None,
        "staysWhole": stays_whole,
        "isWindow": is_window,
        "cell": cell and {"query": cell[0], "key": cell[1]},
        "link": link,
        "preview": preview,
        "about": state.about() if about is None else about,
        "opens": opens,
    }
    callbacks = {"open": lambda: None, "cell": on_cell, "window": on_window}
    given = {f"on_{event}_change": callback for event, callback in callbacks.items() if callback}
    component(__file__, "figure", isolated=False)(key=key, data=data, height=height or "content", **given)


def sent_cell(key: str) -> tuple[int, int] | None:
    """Return the cell, query and key, that a person chose in the figure of this key; None: deselected."""
    text = sent(key, "cell")
    cell = (text.get("query"), text.get("key")) if isinstance(text, dict) else ()
    match cell:
        case (int(query), int(column)) if query >= 0 and column >= 0:
            return query, column
    return None


def sent_window(key: str) -> tuple[range, range] | None:
    """Return the queries and keys that a person wants to see larger in the figure of this key; None: all of them."""
    text = sent(key, "window")
    if not isinstance(text, dict):
        return None
    queries, keys = _span(text.get("queries")), _span(text.get("keys"))
    return (queries, keys) if queries and keys else None


def _span(ends: object) -> range | None:
    """Return the places from the first to the last."""
    match ends:
        case [int(first), int(last)] if 0 <= first <= last:
            return range(first, last + 1)
    return None


@cache
def _templates(reader: str) -> dict[str, str]:
    with speaking(reader):
        return {theme.name: json.dumps(template(theme).to_plotly_json()) for theme in (LIGHT, DARK)}
