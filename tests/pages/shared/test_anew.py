"""All that is read of a run or of a model by its name is that of the files that are there now, not of former ones.

A run is deleted and trained again under its name, and a model's folder is replaced by another of its name: whatever a
page makes of them then is what an app makes that never saw the former ones.
"""

import dataclasses
import json
import shutil
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
import torch

import transformer_core as tc
from pages.explore import overviews
from pages.learn.steps import data as steps_data
from pages.learn.tour.lessons import evidence_of
from pages.models import model_store
from pages.models.models import details
from pages.shared import models, readings, run_readings, runs
from pages.shared.models import ModelCard
from pages.shared.recipe import value_of
from pages.shared.runs import Run
from pages.shared.sources import Source
from pages.train.film import film_readings, learning
from pages.train.heads_over_time import history_of
from pages.train.train import watch
from pages.train.train.watch import look_at
from tests.pages.learn.bare import drawn_bare
from tests.pages.train.small_films import TEXTS, save_run, small_config
from transformer_core.checkpoints.checkpoint import CARD
from transformer_core.training.run.film import Film

TEXT, STEPS = TEXTS[0], (4, 60)


def plain(value: Any) -> Any:
    """A value in what `==` compares."""
    if isinstance(value, torch.Tensor | np.ndarray):
        return np.asarray(value).tolist()
    if isinstance(value, pd.DataFrame):
        return value.to_dict("list")
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def reads_anew(
    readers: Mapping[str, Callable[[Any], Any]], find: Callable[[], Any], save: Callable[[int], None]
) -> None:
    """After another one was saved in its place, all is read as by an app that never saw the first."""

    def read() -> dict[str, Any]:
        return {name: plain(reader(find())) for name, reader in readers.items()}

    save(1)
    first = read()
    save(2)
    second = read()
    st.cache_resource.clear()
    fresh = read()
    assert {name for name in readers if second[name] != fresh[name]} == set()
    assert {name for name in readers if second[name] == first[name]} == set()


def film_read(run: Run) -> film_readings.FilmRead:
    """A text at all snapshots, forced on a target that is the same whatever the weights are."""
    return film_readings.read(run, STEPS, TEXT, "the dog sees", lambda *_: None)


def tokens(run: Run) -> Any:
    return film_readings.fixed(run, STEPS, TEXT, "the dog sees")


def watched(run: Run) -> tuple[str, bytes]:
    """What a browser gets of the newest weights: a version, which tells it to draw again, and a byte a cell."""
    with drawn_bare() as bare:
        watch._overview(run, STEPS[-1], TEXT, readings.read(run_readings.source(run, STEPS[-1]), TEXT))
        data = bytes(bare.components["overview"]["data"])
    (length,) = struct.unpack("<I", data[:4])
    return json.loads(data[4 : 4 + length])["version"], data[4 + length :]


OF_RUNS: dict[str, Callable[[Run], Any]] = {
    "the weights of a snapshot": lambda run: run_readings.source(run, STEPS[0]).load()[0].state_dict(),
    "the weights that were saved last": lambda run: run_readings.source(run, STEPS[-1]).load()[0].state_dict(),
    "what its model says": lambda run: readings.read(run_readings.source(run, STEPS[-1]), TEXT).log_probs,
    "examples": run_readings.examples,
    "losses": runs.records,
    "smooth losses": learning.losses,
    "measures of heads": lambda run: history_of(run)[0].by_attention("previous"),
    "what a film is forced on": lambda run: film_readings.fixed(run, STEPS, TEXT, "").output,
    "one snapshot of a film": lambda run: film_readings.read_one(run_readings.source(run, 4), tokens(run)).patterns,
    "the text at all snapshots": lambda run: film_read(run).reading.patterns,
    "the pictures of a film": lambda run: film_readings.pictures(film_read(run))[0].levels,
    "which pictures a browser has of a film": lambda run: film_read(run).identity,
    "samples": lambda run: look_at(run, TEXT, ()).samples,
    "the pictures of the newest weights": lambda run: watched(run)[1],
    "which pictures a browser has of the newest weights": lambda run: watched(run)[0],
}


def save_anew(place: Path, seed: int) -> None:
    """Let a run be trained again by the same command, with weights and measures of a seed."""
    shutil.rmtree(place, ignore_errors=True)
    save_run(place, seed=seed, steps=STEPS)
    request = (place / "run.json").read_text().replace(f'"seed": {seed}', '"seed": 0').replace(f" --seed {seed}", "")
    (place / "run.json").write_text(request)
    film = Film(place)
    card = (place / "film" / CARD).read_text().replace(f'"{TEXTS[1]}"', f'"The dog {"sleeps " * seed}."')
    (place / "film" / CARD).write_text(card)
    for path in (place / "metrics.jsonl", film.heads.path):
        path.write_text(path.read_text().replace("0.1", f"0.{2 + seed}").replace("3.8", f"3.{seed}"))


def test_all_that_is_read_of_a_run_is_of_the_one_that_was_trained_last_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path))
    reads_anew(OF_RUNS, lambda: runs.available()["pairs"], lambda seed: save_anew(tmp_path / "pairs", seed))


OF_MODELS: dict[str, Callable[[ModelCard], Any]] = {
    "what the list says": lambda card: (card.title, card.examples, card.claim()),
    "the weights": lambda card: models.load(card.path, card.version)[0].state_dict(),
    "the weights of a source": lambda card: Source.of(card).load()[0].state_dict(),
    "the weights of a recipe": lambda card: value_of(Source.of(card).recipe()[0]).state_dict(),
    "what it says": lambda card: readings.read(Source.of(card), TEXT).log_probs,
    "what a recipe of its reading says": lambda card: value_of(
        readings.recipe(Source.of(card), card.config, TEXT).log_probs
    ),
    "its output": lambda card: readings.run(Source.of(card), TEXT, None).log_probs,
    "the pictures of its heads": lambda card: overviews.read(Source.of(card), TEXT, None),
    "the measures of its heads": lambda card: overviews.measures(Source.of(card), TEXT, None),
    "its tokenizer": lambda card: details.tokenizer_of(card.path, card.version).vocab_size,
    "its tokens": lambda card: details.token_table(card)[0],
    "a text in its tokens": lambda card: details.tokens_of(card, TEXT),
    "its parameters": details.parameters_of,
    "its settings": details.configuration_of,
    "its card": lambda card: model_store.whole_card(card.path),
    "its size": model_store.n_bytes,
    "what a lesson measures": lambda card: evidence_of(LESSON).run.card["metrics"],
    "what is walked through": lambda card: steps_data.read(Source.of(card), TEXT, None).log_probs,
}
LESSON: Any = SimpleNamespace(model="mine", text=TEXT, other="", target=None, mistake="", padding=0)


def put_model(place: Path, seed: int) -> None:
    """Save another model under this name, replacing the one that is there."""
    texts = [*TEXTS, "The bird sings.", "A fish swims."][: 3 + seed]
    tokenizer = tc.train_tokenizer(texts, kind="word", vocab_size=300)
    config = dataclasses.replace(small_config("encoder_decoder", tokenizer), d_ff=16 * seed)
    card = {"title": f"Model {seed}", "examples": texts[seed:], "metrics": {"exact_match": seed / 10}}
    new = place.with_name(".new")
    tc.save(new, tc.build(config, seed=seed), tokenizer, card)
    shutil.rmtree(place, ignore_errors=True)
    new.rename(place)


def test_all_that_is_read_of_a_model_is_of_the_one_that_came_last_to_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    reads_anew(OF_MODELS, lambda: models.available()["mine"], lambda seed: put_model(tmp_path / "mine", seed))
