"""Which models the app offers, and under which titles."""

import json
from pathlib import Path
from typing import Any

import pytest

from pages.languages import CATALOGUES
from pages.shared import models
from tests.pages.conftest import save_model
from transformer_core.language import add_catalogues, say, speaking


def test_a_folder_keeps_its_name_in_german_and_a_title_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    titles = {"training": "", "other": "English to French", "second": "English to French"}
    for name, title in titles.items():  # the first is also a text of the app
        save_model(tmp_path / name, n_layers=1, n_heads=1, title=title, examples=("A dog barks.",))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    add_catalogues(CATALOGUES[0])
    with speaking("de"):
        assert say("training") != "training"
        told = {card.title for card in models.available().values()}
    assert told == {"training", "Englisch–Französisch (other)", "Englisch–Französisch (second)"}


@pytest.mark.parametrize(
    ("architecture", "metrics", "said"),
    [
        ("encoder_decoder", {"loss": 0.1, "exact_match": 0.996}, ", 99.6% exact match on held-out texts"),
        ("decoder_only", {"accuracy": 0.9, "coherent": 0.8735}, ", 87.4% of generated stories are coherent"),
        ("encoder_only", {"accuracy": 0.958}, ", 95.8% of masked tokens right"),
        ("decoder_only", {"accuracy": 0.4}, ""),
    ],
)
def test_how_well_it_does_is_said_in_the_words_of_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: Any, metrics: dict[str, float], said: str
):
    folder = tmp_path / "one"
    save_model(folder, n_layers=1, n_heads=1, title="One", examples=("A dog.",), architecture=architecture)
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | {"metrics": metrics}))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    assert models.available()["one"].claim().endswith(f"trained on en-fr{said}")


def test_where_headlight_is_installed_its_models_are_there_beside_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("HEADLIGHT_CHECKPOINTS", raising=False)
    monkeypatch.setattr(models, "ROOT", tmp_path)  # as installed: the folder that it is started in
    assert tuple(models.available()) == models.SHIPPED and all(map(models.is_shipped, models.SHIPPED))
    for name in ("mine", "dates"):
        save_model(tmp_path / "checkpoints" / name, n_layers=1, n_heads=1, title=name, examples=("A dog barks.",))
    cards = models.available()
    assert [*cards] == [*models.SHIPPED, "mine"], "those that come with it are first, in their order"
    assert not models.is_shipped("mine") and cards["mine"].title == "mine" and cards["dates"].title == "dates"
    for name, card in cards.items():
        own = tmp_path / "checkpoints" / name
        assert card.path == f"checkpoints/{name}"
        assert models.place_of(card.path) == (own if name in ("mine", "dates") else models.APP / card.path)
    assert models.place_of("checkpoints/none") == tmp_path / "checkpoints" / "none"
