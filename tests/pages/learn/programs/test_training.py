"""Training on a program's task, from the page: what is started, and what is said of how it stands."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pages.learn.programs import training
from pages.shared import runs
from pages.train.train import keep
from tests.pages.learn.bare import Bare
from tests.pages.learn.experiment_pages import here
from tests.pages.learn.programs.small_runs import STEPS, Shown, few_inputs, train
from transformer_core.corpora import load_corpus
from transformer_core.programs import EXAMPLES, Program
from transformer_core.training.program_task import train_arguments

OWN = Program(source='first = map(lambda token: "a" if token == "b" else token, tokens)', vocab=("a", "b"), max_len=3)
OTHERS: dict[str, Any] = {
    "source": OWN.source.replace("first", "last"),
    "vocab": ("b", "a"),
    "max_len": 4,
    "is_causal": not OWN.is_causal,
}
SHIFT = EXAMPLES["shift"]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    few_inputs(monkeypatch)
    return here(tmp_path, monkeypatch)


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The trainings whose models are offered to be saved, with the step."""
    found: list[tuple[str, int]] = []
    monkeypatch.setattr(keep, "offer", lambda run, step: found.append((run.name, step)))
    return found


def click(bare: Bare, key: str) -> None:
    button = bare.buttons[key]
    assert not button.get("disabled")
    button["on_click"](*button["args"])


def test_an_example_is_trained_under_its_name(bare: Bare, asked: list[list[str]]):
    training.show(Shown.of(SHIFT))
    assert "about 25 seconds on two cores" in bare.words
    bare.session["programs-training-seed"] = 3
    bare.session["programs-training-steps"] = 500
    click(bare, "programs-train")
    ((name, command, *words),) = asked
    assert (name, command) == ("program-shift", "train")
    expected = train_arguments("program:shift", SHIFT, steps=500, seed=3)
    assert words[-len(expected) :] == expected


def test_a_program_of_ones_own_is_written_where_its_training_finds_it(bare: Bare, asked: list[list[str]]):
    training.show(Shown.of(OWN, "a b"))
    click(bare, "programs-train")
    ((_, *words),) = asked
    corpus = load_corpus(words[words.index("--corpus") + 1])
    assert corpus.name == training.corpus_of(OWN)
    assert {item.text: item.labels for item in corpus.train}.get("b b", ("a", "a")) == ("a", "a")
    others = [replace(OWN, **{name: value}) for name, value in OTHERS.items()]
    assert len({corpus.name, *map(training.corpus_of, others)}) == 1 + len(OTHERS)


def test_a_training_that_cannot_start_is_explained(bare: Bare, asked: list[list[str]], tmp_path: Path):
    (tmp_path / "runs").write_text("in the way")
    training.show(Shown.of(OWN, "a b"))
    click(bare, "programs-train")
    assert not asked
    training.show(Shown.of(OWN, "a b"))
    assert "The training did not start: the program cannot be written to" in bare.words


def test_a_finished_training_says_how_good_its_model_is_and_offers_to_save_it(
    bare: Bare, asked: list[list[str]], offered: list[tuple[str, int]]
):
    train(runs.folder() / "mine", SHIFT)
    training.show(Shown.of(SHIFT))
    accuracy = training.accuracy_of(runs.available()["mine"])
    assert accuracy is not None
    assert f"mine: step {STEPS} of {STEPS}, {accuracy:.1%} of the outputs for held-out inputs correct" in bare.words
    assert offered == [("mine", STEPS)]
    assert "programs-train-stop" not in bare.buttons
    model, tokenizer = training.trained(runs.available()["mine"])
    assert tokenizer.to_json() == Shown.of(SHIFT).compiled[1].to_json()
    assert model.config.n_decoder_layers == 1
    offered.clear()
    training.show(Shown.of(OWN, "a b"))
    assert training.training_of(OWN) is None and not offered, "it is of another program"
