"""Messages of a tokenizer in German."""

from pathlib import Path

import pytest

from tests.german import in_german
from transformer_core.errors import CheckpointError
from transformer_core.text.load import load_foreign


def test_a_folder_without_a_tokenizer(tmp_path: Path):
    with pytest.raises(CheckpointError) as refused:
        load_foreign(tmp_path)
    german = in_german(refused.value)
    assert "hat keinen Tokenizer" in german and "vocab.json mit merges.txt" in german and " with " not in german
