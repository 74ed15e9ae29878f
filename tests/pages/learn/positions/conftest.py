"""The parts of the Positions page, drawn without an app."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pages.learn.positions import view_fields
from pages.learn.positions.data import PositionsData
from pages.shared.models import ModelCard
from tests.pages.learn.bare import Bare

Look = Callable[..., PositionsData]


@pytest.fixture
def look(bare: Bare, cards: Mapping[str, ModelCard]) -> Look:
    """Returns the data of the page for a model, shipped or a card, with fields by their names in the URL."""

    def look_at(model: str | ModelCard, encoding: str, part: str = "table", **chosen: Any) -> PositionsData:
        card = cards[model] if isinstance(model, str) else model
        fields = {name.rstrip("_"): value for name, value in chosen.items()}
        bare.begin(card, view_fields.FIELDS, {"encoding": encoding, "part": part} | fields)
        return PositionsData.current(card)

    return look_at
