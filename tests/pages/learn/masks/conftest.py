"""The parts of the Masks page, drawn without an app."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pages.learn.masks import view_fields
from pages.learn.masks.data import MasksData
from pages.shared.models import ModelCard
from tests.pages.learn.bare import Bare

Look = Callable[..., MasksData]


@pytest.fixture
def look(bare: Bare, cards: Mapping[str, ModelCard]) -> Look:
    """Returns the data of the page for a model, shipped or a card, with fields by their names in the URL."""

    def look_at(model: str | ModelCard, **chosen: Any) -> MasksData:
        card = cards[model] if isinstance(model, str) else model
        bare.begin(card, view_fields.FIELDS, chosen)
        return MasksData.current(card)

    return look_at
