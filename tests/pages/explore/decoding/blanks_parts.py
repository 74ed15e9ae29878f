"""A text with two blanks on the Decoding page, drawn in a session."""

from collections.abc import Callable
from typing import Any

from streamlit.testing.v1 import AppTest

from pages.explore.decoding import blanks_data, view_fields
from pages.explore.decoding.blanks_data import BlanksData
from pages.shared import models
from pages.shared.sources import Source
from tests.pages.conftest import GAPS
from tests.pages.explore.parts import shown
from transformer_core.decoding.filling import Filling

TEXT = GAPS[1]
VIEW = {"model": "gaps", "text": TEXT, "attention": "encoder", "layer": 0, "head": 0, "continues": True}
FILLED, STEP = view_fields.FILLED.key, view_fields.STEP.key
REQUEST, PLACE = "decoding-blanks-request", "decoding-blanks-place"


def drawn(draw: Callable[[BlanksData], object], **session: Any) -> AppTest:
    """Draw something of a text with blanks."""
    view = VIEW | session

    def part() -> None:
        card = models.available()["gaps"]
        draw(blanks_data.current(card, Source.of(card), str(view["text"])))

    return shown(part, **view)


def written(filling: Filling) -> str:
    """What was filled, as the address says it."""
    return ".".join(f"{step.position}:{step.chosen.token}" for step in filling.steps)
