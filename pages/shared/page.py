"""The record of each page, read by the frame, the links of lessons, the style sheets and tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal

from headlight.analysis.heads.measures import HeadName
from headlight.language import say
from pages.shared import prose
from pages.shared.models import ModelCard
from pages.shared.view import state
from pages.shared.view.fields import Field
from pages.shared.view.state import last_head
from transformer_core.errors import mark

FOLDER = Path(__file__).parents[1]
SECTIONS = {  # the folders that pages lie in, in this order
    "learn": mark("Learn"),
    "explore": mark("Explore"),
    "train": mark("Train"),
    "investigate": mark("Investigate"),
    "models": mark("Models"),
}

Subject = Literal["text", "stage", "model", "models", "lessons", "run", "server"]
"""What a page shows: a model on a text; the same, where the page itself reads the text; a model, which needs none; all
models, also where none can be read; models and texts that it brings; a training; or the server itself."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """The record of a page, `PAGE` in the `__init__.py` of its folder; `page.py` beside it draws the page."""

    package: str  # `__name__`: pages.<section>.<address>
    place: int  # among the pages of its section
    title: str  # marked
    icon: str  # the name of one of Google's Material Symbols
    subject: Subject = "text"
    fields: Sequence[Field] = ()  # of its view, beside model, text and head
    is_unchanged: bool = False  # interventions affect neither its content nor the answer above it
    views: bool = False  # it also shows models that transformers computes, of which there are patterns and predictions
    usual_head: Callable[[ModelCard], HeadName] | None = last_head  # until one is chosen; None: the page finds one

    @property
    def section(self) -> str:
        """One of `SECTIONS`."""
        return self.package.split(".")[1]

    @property
    def url(self) -> str:
        """Its address."""
        return self.package.split(".")[2]

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return FOLDER / self.section / self.url

    @property
    def script(self) -> str:
        """The script that draws it, as Streamlit names it."""
        return f"{self.section}/{self.url}/page.py"

    def show(self, lead: str, draw: Callable[[], None]) -> None:
        """Draw its heading with a lead (marked), and its content if the text that it needs is there."""
        prose.heading(say(self.title), say(lead))
        if self.subject != "text" or state.current().text:
            draw()


@cache
def pages() -> Mapping[str, Page]:
    """Return all pages by their addresses, in the order of the navigation."""
    results: list[Page] = []
    for section in SECTIONS:
        names = [file.parent.name for file in sorted((FOLDER / section).glob("*/page.py"))]
        records = [import_module(f"pages.{section}.{name}").PAGE for name in names]
        results += sorted(records, key=lambda page: page.place)
    return {page.url: page for page in results}
