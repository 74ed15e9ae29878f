"""The sentences with which files and folders are refused."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transformer_core.errors import CheckpointError


def refusal(load: Callable[[Path], Any], path: Path) -> str:
    """The sentence with which a file or a folder is refused: it names the path, and is one calm line."""
    with pytest.raises(CheckpointError) as caught:
        load(path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert not re.search(r"\w(Error|Exception)\b", sentence) and "\n" not in sentence
    return sentence
