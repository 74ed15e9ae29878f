"""Parts of pages drawn without an app, of the models that are shipped."""

from collections.abc import Iterator, Mapping

import pytest

from pages.shared import models
from pages.shared.models import ModelCard
from tests.pages.learn.bare import Bare, drawn_bare


@pytest.fixture
def bare() -> Iterator[Bare]:
    """What is drawn while the test runs, in place of a page."""
    with drawn_bare() as drawn:
        yield drawn


@pytest.fixture(scope="session")
def cards() -> Mapping[str, ModelCard]:
    """The models that are shipped, by name."""
    return models.available()
