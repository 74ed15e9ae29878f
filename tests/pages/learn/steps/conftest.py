"""The parts of the Attention step by step page, drawn without an app."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pages.learn.steps import view_fields
from pages.learn.steps.data import StepsData
from pages.shared.models import ModelCard
from tests.pages.learn.bare import Bare

Look = Callable[..., StepsData]


@pytest.fixture
def look(bare: Bare, cards: Mapping[str, ModelCard]) -> Look:
    """Returns the data of the page for a model, shipped or a card, with fields by their names in the URL."""

    def look_at(model: str | ModelCard, **chosen: Any) -> StepsData:
        card = cards[model] if isinstance(model, str) else model
        bare.begin(card, view_fields.FIELDS, chosen)
        data = StepsData.current(card)
        assert data is not None
        return data

    return look_at
