"""The parts of the page Positions, drawn without an app."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pages.learn.positions import view_fields
from pages.learn.positions.data import PositionsData
from pages.shared.models import ModelCard
from tests.pages.learn.bare import Bare

Look = Callable[..., PositionsData]
OF_THE_VIEW = ("text", "target", "attention", "layer", "head", "continues")


@pytest.fixture
def look(bare: Bare, cards: Mapping[str, ModelCard]) -> Look:
    """Returns what is seen of a model, a shipped one or a card, with fields of the page by their names in the URL."""

    def look_at(model: str | ModelCard, encoding: str, part: str = "table", **chosen: Any) -> PositionsData:
        card = cards[model] if isinstance(model, str) else model
        bare.clear()
        for field in view_fields.FIELDS:
            field.set(field.usual)
        bare.look_at(card, **{name: chosen.pop(name) for name in OF_THE_VIEW if name in chosen})
        by_name = {field.name: field for field in view_fields.FIELDS}
        for name, value in ({"encoding": encoding, "part": part} | chosen).items():
            by_name[name.rstrip("_")].set(value)
        return PositionsData.current(card)

    return look_at
