"""The table of matched heads and both patterns, of a training that has ended."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.programs import matched, training
from pages.shared import runs
from pages.shared.recipe import script, value_of
from tests.pages.learn.bare import Bare, run_lines
from tests.pages.learn.programs.small_runs import Shown, few_inputs, train
from transformer_core.analysis.heads.program_heads import match_program
from transformer_core.corpora import load_corpus
from transformer_core.programs import EXAMPLES, Program

SHOWN = Shown.of(EXAMPLES["shift"])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the runs, with one on the program's task."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        few_inputs(patch)
        train(folder / "mine", SHOWN.program)
        patch.setenv("HEADLIGHT_RUNS", str(folder))
        yield folder


def test_before_a_training_nothing_is_drawn(bare: Bare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path))
    matched.show(SHOWN)
    assert not bare.texts
    assert not bare.figures
    assert matched.code(SHOWN) == []


def test_each_head_of_the_program_has_a_row(bare: Bare, trained: Path):
    matched.show(SHOWN)
    model, tokenizer = tc.load(trained / "mine" / "last")
    (head,) = match_program(SHOWN.compiled[0], model, tokenizer, load_corpus("program:shift")).heads
    cells = [
        "L0.H0",
        f"L0.H{head.trained_head[1]}",
        f"{head.distance:.2f}",
        f"{head.by_chance:.2f}",
        f"{head.effect:.1%}",
    ]
    verdict = "yes" if head.is_convincing else "no"
    row = "".join(f"<td>{cell}</td>" for cell in [*cells, verdict])
    assert f"<td><code>{SHOWN.program.source.strip()}</code></td>{row}" in bare.words
    assert "on 20 held-out inputs" in bare.words
    assert "in 20 untrained models" in bare.words


def test_both_patterns_are_those_of_the_models_on_the_input(bare: Bare, trained: Path):
    matched.show(SHOWN)
    run = training.training_of(SHOWN.program)
    assert run is not None
    (matched_head,) = value_of(matched.recipe(SHOWN.program, run)).heads
    models = {
        "program": (SHOWN.compiled[0], 0),
        "trained": (tc.load(trained / "mine" / "last")[0], matched_head.trained_head[1]),
    }
    tokens = torch.tensor([SHOWN.compiled[1].encode("b a d", bos=True)])
    for name, (model, head) in models.items():
        with torch.inference_mode(), tc.capture(model) as acts:
            model(tokens)
        _, *lines = bare.figures[f"programs-matched-{name}"].taken["csv"]().splitlines()
        weights = np.array([float(line.rsplit(",", 1)[1]) for line in lines])
        expected = acts["decoder.blocks.0.self_attn.hook_pattern"][0, head].flatten().numpy()
        np.testing.assert_allclose(weights, expected, atol=1e-5)
    titles = [bare.figures[f"programs-matched-{name}"].title for name in models]
    assert titles == ["Program, L0.H0", f"Trained, L0.H{matched_head.trained_head[1]}"]


def test_only_a_model_that_has_learned_the_task_has_another_solution(bare: Bare, trained: Path):
    matched.show(SHOWN)
    run = training.training_of(SHOWN.program)
    assert run is not None
    match = value_of(matched.recipe(SHOWN.program, run))
    assert f"has not learned the task yet: {match.accuracy:.2%} of its outputs" in bare.words
    assert "in another way" not in bare.words and "more steps" in bare.words
    learned, almost = (matched.verdict(replace(match, accuracy=accuracy)) for accuracy in (0.99, 0.9899))
    assert "has learned the task: 99.00%" in learned and "in another way" in learned and "more steps" not in learned
    assert "not learned the task yet: 98.99%" in almost and "in another way" not in almost


def test_the_code_gives_the_same(trained: Path):
    run = training.training_of(SHOWN.program)
    assert run is not None
    match = value_of(matched.recipe(SHOWN.program, run))
    assert run_lines(script(*matched.code(SHOWN)))[1].strip() == str(match.heads)


def test_a_program_without_heads(bare: Bare, trained: Path):
    program = Program(source="same = map(lambda token: token, tokens)", vocab=("a", "b"), max_len=3)
    train(runs.folder() / "other", program)
    matched.show(Shown.of(program, "a b"))
    assert "This program needs no heads" in bare.words
    assert not bare.figures
