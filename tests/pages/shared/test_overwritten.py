"""What was made from a folder is made anew when other files come to the same folder while the app runs."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from pages.explore import overviews
from pages.learn.steps import walkthroughs
from pages.learn.tour.lessons import evidence_of
from pages.models import model_store
from pages.shared import models, readings
from pages.shared.models import ModelCard
from pages.shared.sources import Source
from tests.pages.conftest import PROMPTS, save_model
from transformer_core.analysis import run_text
from transformer_core.checkpoints.checkpoint import read_card

TEXT = PROMPTS[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one model that can be overwritten, "tales"."""
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    save_model(tmp_path / "tales", n_layers=1, n_heads=4, title="Tales", examples=PROMPTS, architecture="decoder_only")
    return tmp_path / "tales"


def card() -> ModelCard:
    """The model as the app knows it now."""
    return models.available()["tales"]


def other_weights(folder: Path) -> None:
    """Write another model of the same sizes over the one in its folder, each file in its place."""
    model, tokenizer = tc.load(folder)
    other = tc.build(model.config, seed=77)
    new = folder.with_name("new")
    tc.save(new, other, tokenizer, read_card(folder))
    for path in new.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    shutil.rmtree(new)


def other_configuration(folder: Path) -> None:
    """Change what the same weights compute."""
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"relu"', '"gelu"'))
    assert "gelu" in path.read_text()


def other_tokens(folder: Path) -> None:
    """Give the same weights another vocabulary of the same size."""
    path = folder / "tokenizer.json"
    path.write_text(path.read_text().replace('"cat"', '"emu"').replace('"dog"', '"cat"').replace('"emu"', '"dog"'))


def patterns(run: Any) -> np.ndarray:
    return np.asarray(run.attention_maps["decoder"].pattern(0, 0))


@pytest.mark.parametrize("overwrite", [other_weights, other_configuration, other_tokens])
def test_a_model_is_loaded_and_its_text_is_read_anew(folder: Path, overwrite: Callable[[Path], None]):
    first = card()
    source = Source.of(first, continues=False)
    before = readings.read(source, TEXT)
    assert readings.read(Source.of(card(), continues=False), TEXT) is before  # nothing happened yet
    pictures, walked = overviews.read(source, TEXT, None), walkthroughs.read(source, TEXT, None)
    overwrite(folder)
    source = Source.of(card(), continues=False)
    after = readings.read(source, TEXT)
    model, tokenizer = tc.load(folder)  # the independent way
    expected = run_text(model, tokenizer, TEXT, max_new_tokens=0)
    assert after.inputs == expected.inputs
    np.testing.assert_array_equal(patterns(after), patterns(expected))
    assert walkthroughs.read(source, TEXT, None) is after is not walked
    assert overviews.read(source, TEXT, None) is not pictures
    np.testing.assert_array_equal(after.log_probs, expected.log_probs)
    assert not np.array_equal(after.log_probs, before.log_probs)


def test_the_table_of_tokens_is_of_the_tokenizer_that_is_there_now(folder: Path):
    def number(token: str) -> int:
        (row,) = model_store.token_table(card(), token)[0].to_dict("records")[:1]
        return int(row["number"])

    cat, dog = number("cat"), number("dog")
    other_tokens(folder)
    assert (number("cat"), number("dog")) == (dog, cat)


def test_lessons_tell_what_the_card_says_now(folder: Path):
    lesson: Any = SimpleNamespace(model="tales", text=TEXT, other="", target=None, mistake="", padding=0)

    def measured() -> Any:
        return evidence_of(lesson).run.card["metrics"]

    assert measured() == {"exact_match": 0.994}
    path = folder / "card.json"
    path.write_text(path.read_text().replace("0.994", "0.125"))
    assert measured() == {"exact_match": 0.125}
