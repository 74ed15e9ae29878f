"""Which models the app offers, and under which titles."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.language import add_catalogues, say, speaking
from pages.languages import CATALOGUES
from pages.shared import models
from tests.pages.conftest import save_model, words_of


def test_a_folder_keeps_its_name_in_german_and_a_title_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    titles = {"training": "", "other": "English to French", "second": "English to French"}
    for name, title in titles.items():  # the first is also a text of the app
        save_model(tmp_path / name, n_layers=1, n_heads=1, title=title, examples=("A dog barks.",))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    add_catalogues(CATALOGUES[0])
    with speaking("de"):
        assert say("training") != "training"
        reports = {card.title for card in models.available().values()}
    assert reports == {"training", "Englisch–Französisch (other)", "Englisch–Französisch (second)"}


@pytest.mark.parametrize(
    ("architecture", "metrics", "message"),
    [
        ("encoder_decoder", {"loss": 0.1, "exact_match": 0.996}, ", 99.6% exact match on held-out texts"),
        ("decoder_only", {"accuracy": 0.9, "coherent": 0.8735}, ", 87.4% of generated stories are coherent"),
        ("encoder_only", {"accuracy": 0.958}, ", 95.8% accuracy on masked tokens"),
        ("decoder_only", {"accuracy": 0.4}, ""),
    ],
)
def test_how_well_it_does_is_said_in_the_words_of_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: Any, metrics: dict[str, float], message: str
):
    card = card_with(tmp_path, monkeypatch, architecture, metrics=metrics)
    assert card.claim().endswith(f"trained on en-fr{message}")


def card_with(
    place: Path, monkeypatch: pytest.MonkeyPatch, architecture: Any = "encoder_decoder", **more: object
) -> models.ModelCard:
    """The card of a model of one layer and two heads that says more of it."""
    save_model(place / "one", n_layers=1, n_heads=2, title="One", examples=("A dog.",), architecture=architecture)
    path = place / "one" / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | more))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(place))
    return models.available()["one"]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        *(("encoder.0.1", (0, 1)), ("cross.0.0", None), (["encoder"], None)),
        *(("encoder.1.0", None), ("encoder.0.2", None)),  # which are not there
    ],
)
def test_the_card_says_which_head_was_guided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: object, known: tuple[int, int] | None
):
    assert card_with(tmp_path, monkeypatch, trained={"guided_head": text}).guided_head == known


def test_a_card_of_any_size_is_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    long = "W" * 10_000
    lists = {"examples": [long, *["A dog."] * 5_000], "heads": [{"does": long}] * 5_000}
    card = card_with(tmp_path, monkeypatch, title=long, corpus={"name": long}, metrics={"exact_match": 1e300}, **lists)
    assert 0 < len(card.title) < 300 and len(card.claim()) < 500 and not card.success
    assert {*card.examples} == {"A dog."} and len(card.examples) < 300
    assert sum(map(len, card.heads)) < 500_000
    assert card_with(tmp_path / "b", monkeypatch, title=" \n").title == "one"
    pipe = tmp_path / "b" / "one" / "card.json"
    pipe.unlink()
    os.mkfifo(pipe)
    assert not models.available()


def test_the_command_that_trains_a_first_model_is_that_of_its_card():
    assert tc.read_card(models.APP / "checkpoints" / models.SHIPPED[0])["trained"]["command"] == models.TRAIN_COMMAND


def test_heads_and_models_say_which_head_was_guided(open_app: Callable[..., AppTest]):
    head = {"attention": "encoder", "layer": "1", "head": "0"}
    others = [("heads", head | {"attention": "cross"}), ("models", {"model": "dates"})]
    for page, view in (("heads", head), ("models", {}), *others):
        is_told = "Encoder self-attention L1.H0 was guided" in words_of(open_app(page, **view))
        assert is_told == ((page, view) not in others)


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
