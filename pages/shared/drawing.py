"""Figures with their downloads: the numbers, the code that computes them, and the view."""

import hashlib
import io
import json
import platform
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from headlight.figures import Figure
from headlight.figures.offline import offline_page
from pages.components import figures
from pages.shared import recipe
from pages.shared.models import place_of
from pages.shared.recipe import Expression, Lines, Print, Unwritten, call, named, value_of
from pages.shared.view import long_texts, state

WHERE = "# Put this file into Headlight's folder, beside app.py, and run it there: python redraw.py\n"
LIBRARIES = ("torch", "numpy", "streamlit", "plotly")


def looks(width: int, height: int) -> dict[str, Unwritten]:
    """Return the size of a figure on the page, in px, as arguments that its code omits."""
    return {"width": Unwritten(width), "height": Unwritten(height)}


def draw(
    drawn: Expression,
    *printed: Print | Lines,
    title: str,
    name: str,
    **more: Any,
) -> None:
    """Draw the figure of a recipe; the code saved with it reproduces the figure.

    Args:
        drawn: the call that draws it.
        printed: the lines that print its numbers.
        title: of the page that the lines write.
        name: of the files that are saved, without their endings.
        more: as for `draw_figure`.
    """
    figure = named("figure", drawn)
    code = partial(script, figure, *printed, title=title, name=name)
    draw_figure(value_of(figure), name=name, code=code, **more)


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
    """Draw a figure at the height of its layout, unless another height is given.

    Args:
        figure: is drawn.
        name: of the files that are saved, without their endings.
        key: the component's key.
        csv: gives the numbers as a table.
        arrays: gives them by name.
        code: gives the lines that compute the same numbers.
        model: the folder of its model, as one writes it at the project's root; None: it is of none.
        view: gives the words of the URL that define it.
        state_of: gives what it depends on besides the words of the URL.
        more: as for `live_figure`.
    """

    def saved() -> Mapping[str, bytes]:
        return files(name=name, csv=csv, arrays=arrays, code=code(), words=view(), model=model, more=state_of())

    figures.live_figure(figure, **{"height": int(figure.layout.height), **more}, name=name, key=key, files=saved)


def script(figure: Expression, *last: Print | Lines, title: str, name: str) -> str:
    """Return the code that redraws a figure and writes it to an HTML page that opens offline.

    Args:
        figure: as `named` gives it.
        last: lines to append, such as those that print its numbers.
        title: of the page.
        name: of its file, without the ending.
    """
    page = named("page", call(offline_page, figure, title=title, about=state.about()))
    written = call(Path, f"{name}.html").write_text(page, encoding="utf-8")
    return recipe.script(written, *last)


def files(
    *,
    name: str,
    csv: Callable[[], str],
    arrays: Callable[[], Mapping[str, np.ndarray]],
    code: str,
    words: Mapping[str, str],
    model: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> Mapping[str, bytes]:
    """Return the files that `live_figure` adds to its pictures, by their names.

    Args:
        name: of the figure's files, without their endings.
        csv: gives the numbers as a table.
        arrays: gives them by name, for `numpy.load`.
        code: the lines that give the same numbers, to be run in Headlight's folder.
        words: what defines the view, as in the URL; a text that is packed there is written out.
        more: what else it depends on, by name.
        model: the folder of its model or of a snapshot of a training, as one writes it at the project's root.

    Returns:
        `{name}.csv`, `{name}.npz`, `redraw.py` and `state.json`, which records the view, the model with the SHA-256 of
        its weights and the seed of its training, and the versions of what computed it.
    """
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays())
    payload = (
        {"view": _written_out(words), **(more or {})}
        | ({"model": model_of(model)} if model else {})
        | {"versions": versions()}
    )
    return {
        f"{name}.csv": csv().encode(),
        f"{name}.npz": packed.getvalue(),
        "redraw.py": (WHERE + code).encode(),
        "state.json": (json.dumps(payload, indent=2, ensure_ascii=False) + "\n").encode(),
    }


@cache
def versions() -> Mapping[str, str]:
    """Return the versions of Python and of the libraries that a figure's numbers and appearance depend on."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in LIBRARIES}


def _written_out(words: Mapping[str, str]) -> dict[str, str]:
    """Return the words of the URL with each packed text unpacked, under its own name."""
    own = {name: name.removeprefix("packed").removeprefix("-") or "text" for name in words if name[:6] == "packed"}
    return {own.get(name, name): (long_texts.unpacked(of) or "") if name in own else of for name, of in words.items()}


def model_of(path: str) -> dict[str, Any]:
    """Return the identity of a model: its path, the SHA-256 of its weights and its seed, if its folder has them."""
    folder = place_of(path)
    payload: dict[str, Any] = {"path": path if not Path(path).is_absolute() else folder.name}
    try:
        weights = (folder / "model.safetensors").stat()
        payload["sha256"] = _digest(folder / "model.safetensors", weights.st_mtime_ns, weights.st_size)
        card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
        payload["seed"] = card["trained"]["seed"]
    except (OSError, LookupError, TypeError, ValueError):
        pass  # a folder that was removed meanwhile, or a card without a seed
    return payload


@lru_cache(maxsize=32)
def _digest(path: Path, _mtime_ns: int, _size: int) -> str:
    """Return the SHA-256 of a file; modification time and size distinguish successive contents in the cache."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
