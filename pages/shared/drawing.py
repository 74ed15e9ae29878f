"""Draw figures that can be saved with their numbers and the lines that compute them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from headlight.figures import Figure
from pages.components import figures
from pages.shared import export
from pages.shared.recipe import Expression, Lines, Print, Unwritten, named, value_of
from pages.shared.view import state


def looks(width: int, height: int) -> dict[str, Unwritten]:
    """Return the size of a figure on the page, in px, which its code leaves out."""
    return {"width": Unwritten(width), "height": Unwritten(height)}


def draw(
    drawn: Expression,
    *printed: Print | Lines,
    title: str,
    name: str,
    **more: Any,
) -> None:
    """Draw the figure of a recipe, which the code that is saved with it draws again.

    Args:
        drawn: the call that draws it.
        printed: the lines that print its numbers.
        title: of the page that the lines write.
        name: of the files that are saved, without their endings.
        more: as for `draw_figure`.
    """
    recipe = named("figure", drawn)
    code = partial(export.script, recipe, *printed, title=title, name=name)
    draw_figure(value_of(recipe), name=name, code=code, **more)


def draw_figure(
    figure: Figure,
    *,
    name: str,
    key: str,
    csv: Callable[[], str],
    arrays: Callable[[], Mapping[str, np.ndarray]],
    code: Callable[[], str],
    model: str | None,
    view: Callable[[], Mapping[str, str]] = state.in_words,
    state_of: Callable[[], Mapping[str, Any]] = dict,
    **more: Any,
) -> None:
    """Draw a figure as high as it is laid out, unless another height is given.

    Args:
        figure: is drawn.
        name: of the files that are saved, without their endings.
        key: the component's key.
        csv: gives the numbers as a table.
        arrays: gives them by name.
        code: gives the lines that compute the same numbers.
        model: the folder of its model, as one writes it at the project's root; None: it is of none.
        view: gives the words of the URL that define it.
        state_of: gives what else it depends on, beside the words of the URL.
        more: as for `live_figure`.
    """

    def files() -> Mapping[str, bytes]:
        return export.files(name=name, csv=csv, arrays=arrays, code=code(), state=view(), model=model, more=state_of())

    figures.live_figure(figure, **{"height": int(figure.layout.height), **more}, name=name, key=key, files=files)
