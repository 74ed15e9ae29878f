"""Parts of pages drawn without an app, with predictions asked for."""

from collections.abc import Iterator

import pytest

from pages.shared.predictions import answers
from tests.pages.learn.bare import Bare, drawn_bare


@pytest.fixture
def bare() -> Iterator[Bare]:
    with drawn_bare() as drawn:
        answers.IS_ON.set(True)
        yield drawn
