"""A short training on a program's task: how it is started and watched, and the heads that are matched with it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.heads.program_heads import ProgramMatch
from headlight.programs import EXAMPLES, Program
from headlight.programs import corpus as programs_corpus
from headlight.programs.checkpoint import write_program
from headlight.programs.corpus import program_training, train_arguments
from headlight.programs.examples import example_of
from pages.learn.programs import matched, training
from pages.learn.programs.data import CompiledProgram
from pages.learn.programs.training import corpus_of
from pages.shared import runs
from pages.shared.recipe import script, value_of
from pages.train.train import keep
from tests.pages.learn.bare import Bare, run_lines
from tests.pages.learn.experiment_pages import here
from transformer_core.corpora import load_corpus
from transformer_core.training.run.begin import begin
from transformer_core.training.run.worker import work

STEPS = 2


def written(program: Program, text: str = "b a d") -> CompiledProgram:
    return CompiledProgram(program=program, tokens=tuple(text.split()))


def few_inputs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(programs_corpus, "N_TRAIN", 200)
    patch.setattr(programs_corpus, "N_HELD_OUT", 20)


def train(place: Path, program: Program) -> None:
    preset, settings = program_training(program, steps=STEPS)
    corpus = corpus_of(program)
    if not example_of(program):
        write_program(corpus.removeprefix("program:"), program)
    list(work(begin(place, corpus_name=corpus, preset=preset, settings=settings)))


SHOWN = written(EXAMPLES["shift"])
OWN = Program(source='first = map(lambda token: "a" if token == "b" else token, tokens)', vocab=("a", "b"), max_len=3)
OTHERS = (  # each differs from it in one field
    *(replace(OWN, source=OWN.source.replace("first", "last")), replace(OWN, vocab=("b", "a"))),
    *(replace(OWN, max_len=4), replace(OWN, is_causal=not OWN.is_causal)),
)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    few_inputs(monkeypatch)
    return here(tmp_path, monkeypatch)


def click(bare: Bare, key: str) -> None:
    button = bare.buttons[key]
    assert not button.get("disabled")
    button["on_click"](*button["args"])


def test_an_example_is_trained_under_its_name(bare: Bare, commands: list[list[str]]):
    training.show(SHOWN)
    assert "about 25 seconds on two cores" in bare.words
    bare.session["programs-training-seed"] = 3
    bare.session["programs-training-steps"] = 500
    click(bare, "programs-train")
    ((name, command, *words),) = commands
    assert (name, command) == ("program-shift", "train")
    expected = train_arguments("program:shift", SHOWN.program, steps=500, seed=3)
    assert words[-len(expected) :] == expected


def test_a_program_of_ones_own_is_written_where_its_training_finds_it(bare: Bare, commands: list[list[str]]):
    training.show(written(OWN, "a b"))
    click(bare, "programs-train")
    ((_, *words),) = commands
    corpus = load_corpus(words[words.index("--corpus") + 1])
    assert corpus.name == training.corpus_of(OWN)
    assert {item.text: item.labels for item in corpus.train}.get("b b", ("a", "a")) == ("a", "a")
    assert len({corpus.name, *map(training.corpus_of, OTHERS)}) == 1 + len(OTHERS)


def test_a_training_that_cannot_start_is_explained(bare: Bare, commands: list[list[str]], tmp_path: Path):
    (tmp_path / "runs").write_text("in the way")
    training.show(written(OWN, "a b"))
    click(bare, "programs-train")
    assert not commands
    training.show(written(OWN, "a b"))
    assert "The training did not start: the program cannot be written to" in bare.words


def test_a_finished_training_says_how_good_its_model_is_and_offers_to_save_it(
    bare: Bare, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
):
    offered: list[tuple[str, int]] = []
    monkeypatch.setattr(keep, "offer", lambda run, step: offered.append((run.name, step)))
    train(runs.folder() / "mine", SHOWN.program)
    training.show(SHOWN)
    accuracy = training.accuracy_of(runs.available()["mine"])
    assert f"{accuracy:.1%} of the outputs for held-out inputs correct" in bare.words
    assert offered == [("mine", STEPS)]
    offered.clear()
    training.show(written(OWN, "a b"))
    assert training.training_of(OWN) is None and not offered, "it is of another program"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        few_inputs(patch)
        train(folder / "mine", SHOWN.program)
        patch.setenv("HEADLIGHT_RUNS", str(folder))
        yield folder


def match_of_training() -> ProgramMatch:
    run = training.training_of(SHOWN.program)
    assert run is not None
    return value_of(matched.recipe(SHOWN.program, run))


def test_both_patterns_are_those_of_the_models_on_the_input(bare: Bare, trained: Path):
    matched.show(SHOWN)
    head_of_training = match_of_training().heads[0].trained_head[1]
    models = {"program": (SHOWN.model[0], 0), "trained": (tc.load(trained / "mine" / "last")[0], head_of_training)}
    tokens = torch.tensor([SHOWN.model[1].encode("b a d", bos=True)])
    for name, (model, head) in models.items():
        with torch.inference_mode(), tc.capture(model) as acts:
            model(tokens)
        weights = [float(row.rsplit(",", 1)[1]) for row in bare.figures[f"programs-matched-{name}"].rows[1:]]
        expected = acts["decoder.blocks.0.self_attn.hook_pattern"][0, head].flatten()
        np.testing.assert_allclose(weights, expected, atol=1e-5)


def test_only_a_model_that_has_learned_the_task_has_another_solution(bare: Bare, trained: Path):
    matched.show(SHOWN)
    match = match_of_training()
    assert f"has not learned the task yet: {match.accuracy:.2%} of its outputs" in bare.words
    learned, almost = (matched.verdict(replace(match, accuracy=accuracy)) for accuracy in (0.99, 0.9899))
    assert "has learned the task: 99.00%" in learned and "in another way" in learned
    assert "not learned the task yet: 98.99%" in almost and "in another way" not in almost


def test_the_code_gives_the_same(trained: Path):
    assert run_lines(script(*matched.code(SHOWN)))[1].strip() == str(match_of_training().heads)


def test_a_program_without_heads(bare: Bare, trained: Path):
    program = Program(source="same = map(lambda token: token, tokens)", vocab=("a", "b"), max_len=3)
    train(runs.folder() / "other", program)
    matched.show(written(program, "a b"))
    assert "This program needs no heads" in bare.words
    assert not bare.figures
