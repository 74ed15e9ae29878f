"""Which models the app offers, and under which titles."""

from pathlib import Path

import pytest

from pages.shared import models
from tests.pages.conftest import save_model


def test_models_of_the_same_title_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, title in (("first", "English to French"), ("second", "English to French"), ("third", "Copy")):
        save_model(tmp_path / name, n_layers=1, n_heads=1, title=title, examples=("A dog barks.",))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    titles = {name: card.title for name, card in models.available().items()}
    assert titles == {"first": "English to French (first)", "second": "English to French (second)", "third": "Copy"}
