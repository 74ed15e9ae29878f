"""The parts of the Build page, drawn without an app."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pages.learn.build import view_fields
from pages.learn.build.data import BuildData
from pages.shared.models import ModelCard
from tests.pages.learn.bare import Bare

Look = Callable[..., BuildData]


@pytest.fixture
def look(bare: Bare, cards: Mapping[str, ModelCard]) -> Look:
    """Returns the data of the page for a shipped model with some lines by their step, and fields by their names."""

    def look_at(model: str, lines: Mapping[int, str] | None = None, **chosen: Any) -> BuildData:
        bare.begin(cards[model], view_fields.FIELDS, chosen)
        for step, line in (lines or {}).items():
            view_fields.LINES[step - 1].set(line)
        data = BuildData.current(cards[model])
        assert data is not None
        return data

    return look_at
