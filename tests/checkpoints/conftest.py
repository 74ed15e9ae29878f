"""Each small foreign model is made and saved once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.checkpoints import foreign


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a small model of `foreign.SMALL`, as the library saves it; not to be written to."""

    @cache
    def made(name: str) -> Path:
        folder = tmp_path_factory.mktemp("foreign") / name
        foreign.save_small(name, folder)
        return folder

    return made
