"""What the parts of the pages of Explore draw, by the keys of the figures."""

from typing import Any

import pytest

from pages.components import figures
from tests.pages.explore.parts import Drawing


@pytest.fixture
def drawings(monkeypatch: pytest.MonkeyPatch) -> dict[str, Drawing]:
    """All figures that were drawn, in their order."""
    drawn: dict[str, Drawing] = {}

    def draw(figure: Any, *, key: str, **options: Any) -> None:
        drawn[key] = Drawing.of(figure, **options)

    monkeypatch.setattr(figures, "live_figure", draw)
    return drawn
