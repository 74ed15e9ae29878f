"""The parts of the Architecture page, drawn without an app."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from headlight.analysis.blueprint.plan import blueprint_of
from pages.learn.architecture import view_fields
from pages.learn.architecture.data import ArchitectureData
from pages.shared.models import ModelCard
from tests.pages.learn.bare import Bare

Look = Callable[..., ArchitectureData]


@pytest.fixture
def look(bare: Bare, cards: Mapping[str, ModelCard]) -> Look:
    """Returns the data of the page for a shipped model, with fields by their names in the URL.

    `config`: settings that the model's card says instead of its own; its weights stay.
    """

    def look_at(model: str, *, config: Mapping[str, Any] | None = None, **chosen: Any) -> ArchitectureData:
        card = cards[model]
        bare.begin(card, view_fields.FIELDS, chosen)
        data = ArchitectureData.current(card)
        assert data is not None
        if config:
            other = replace(card, config=replace(card.config, **config))
            data = replace(data, card=other, plan=blueprint_of(other.config))
        return data

    return look_at
