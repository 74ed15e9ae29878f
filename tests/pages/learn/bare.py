"""Parts of pages drawn without an app: a session that is a mapping, and all that is drawn, kept unchanged given."""

import html
import io
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import streamlit as st

from pages.components import figures
from pages.shared import drawing
from pages.shared.models import ModelCard
from pages.shared.view import state
from pages.shared.view.fields import Field

OF_THE_VIEW = ("text", "target", "attention", "layer", "head", "continues")
TEXTS = ("html", "markdown", "caption", "info", "warning")
WIDGETS = ("selectbox", "segmented_control", "multiselect", "slider", "number_input", "text_input", "toggle", "pills")


@dataclass
class Drawn:
    figure: Any
    options: dict[str, Any]
    taken: dict[str, Any]

    @property
    def layout(self) -> dict[str, Any]:
        return dict(json.loads(self.figure.to_json())["layout"])

    @property
    def title(self) -> str:
        return html.unescape(self.layout["title"]["text"])

    @property
    def rows(self) -> list[str]:
        return str(self.taken["csv"]()).splitlines()

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return dict(self.taken["arrays"]())


@dataclass
class Widget:
    options: list[Any]
    names: list[str]
    how: dict[str, Any]


@dataclass
class Bare:
    session: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Drawn] = field(default_factory=dict)  # by their keys
    texts: list[str] = field(default_factory=list)
    widgets: dict[str, Widget] = field(default_factory=dict)  # by their keys
    buttons: dict[str, dict[str, Any]] = field(default_factory=dict)  # likewise, with their labels
    components: dict[str, dict[str, Any]] = field(default_factory=dict)  # by their names, the latest of each
    places: list[str] = field(default_factory=list)  # keys of containers, as they are opened

    @property
    def words(self) -> str:
        return html.unescape("\n".join(self.texts))

    def clear(self) -> None:
        """Forget what was drawn, but not what is chosen."""
        for kept in (self.figures, self.texts, self.widgets, self.buttons, self.components, self.places):
            kept.clear()

    def look_at(self, card: ModelCard, text: str | None = None, **chosen: Any) -> None:
        """Choose a model, a text and other parts of the view; a decoder-only model reads the text alone."""
        last, writes = state.last_head(card), card.config.architecture == "encoder_decoder"
        usual = {"text": card.examples[0] if text is None else text, "continues": writes, "target": None}
        usual |= {"attention": last.attention, "layer": last.layer, "head": last.head}
        self.session.update({"model": card.name} | usual | chosen)

    def begin(self, card: ModelCard, fields: Iterable[Field], chosen: Mapping[str, Any]) -> None:
        """Begin again with a model, and what is chosen: parts of the view, and fields of a page by their names."""
        self.clear()
        self.session.clear()
        self.look_at(card, **{name: value for name, value in chosen.items() if name in OF_THE_VIEW})
        by_name = {field.name: field for field in (*fields, state.STACK)}
        for name, value in chosen.items():
            if name not in OF_THE_VIEW:
                by_name[name].set(value)


def unpacked(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The header that a component is sent, and the numbers after it."""
    (length,) = struct.unpack("<I", data[:4])
    return json.loads(data[4 : 4 + length]), data[4 + length :]


def run_lines(lines: str) -> tuple[dict[str, Any], str]:
    """Run the lines of "Show the code"; return the names that they define, and their output."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(lines, "the code of the page", "exec"), names)  # in the tests alone: it is what the page shows
    return names, printed.getvalue()


class Place:
    open = True

    def __enter__(self) -> "Place":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(st, name)


@contextmanager
def drawn_bare() -> Iterator[Bare]:
    bare = Bare()

    def live_figure(figure: Any, *, key: str, files: Any, **options: Any) -> None:
        bare.figures[key] = Drawn(figure, options, files())

    def text(body: object, **_: object) -> None:
        bare.texts.append(str(body))

    def widget(kind: str) -> Callable[..., Any]:
        def draw(label: str, options: Iterable[Any] = (), *_: Any, **how: Any) -> Any:
            offered = [*options] if kind in ("selectbox", "segmented_control", "multiselect", "pills") else []
            names = [how["format_func"](option) if "format_func" in how else str(option) for option in offered]
            bare.widgets[how["key"]] = Widget(offered, names, how)
            return bare.session.get(how["key"])

        return draw

    def button(label: str, *, key: str, **how: Any) -> bool:
        bare.buttons[key] = {"label": label} | how
        return False

    def place(*_: object, key: str = "", **__: object) -> Place:
        if key:
            bare.places.append(key)
        return Place()

    def columns(spec: Any, **_: object) -> list[Place]:
        return [Place()] * (spec if isinstance(spec, int) else len(spec))

    def component(name: str, **_: object) -> Callable[..., None]:
        def mount(**given: Any) -> None:
            bare.components[name.split(".")[1]] = given

        return mount

    def expander(label: str, **how: Any) -> Place:
        bare.texts.append(label)
        return place(key=how.get("key") or "")

    replaced: Mapping[str, Any] = {
        **dict.fromkeys(TEXTS, text),
        **{kind: widget(kind) for kind in WIDGETS},
        **{"button": button, "container": place, "columns": columns, "expander": expander, "popover": expander},
        **{"empty": place, "spinner": place, "code": text, "session_state": bare.session},
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, stand_in in replaced.items():
            patch.setattr(st, name, stand_in)
        patch.setattr(st.components.v2, "component", component)
        patch.setattr(figures, "live_figure", live_figure)
        patch.setattr(drawing, "files", dict)
        yield bare


def looking(fields: Iterable[Field], data: Any) -> Any:
    """Return a fixture: it gives the data of a page for a model, shipped or a card, with fields by their names."""

    @pytest.fixture
    def look(bare: Bare, cards: Mapping[str, ModelCard]) -> Callable[..., Any]:
        def look_at(model: str | ModelCard, **chosen: Any) -> Any:
            card = cards[model] if isinstance(model, str) else model
            bare.begin(card, fields, chosen)
            return data.current(card)

        return look_at

    return look
