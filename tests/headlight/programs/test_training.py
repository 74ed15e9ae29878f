"""Trainings on the tasks of programs: as large as the compiled model, and their heads can be compared."""

from pathlib import Path

import pytest

from headlight.analysis.heads.program_heads import match_program
from headlight.analysis.training.describing import describe_heads
from headlight.programs import EXAMPLES
from headlight.programs.training import program_training, train_arguments
from tests.headlight.programs.compiled_examples import example
from transformer_core.checkpoints.checkpoint import load, read_card
from transformer_core.cli.settings import parse_settings
from transformer_core.training.run.begin import begin
from transformer_core.training.run.job import Job
from transformer_core.training.run.keep import keep_run
from transformer_core.training.run.worker import work


def trained(folder: Path, name: str, *, steps: int) -> Job:
    """A training on the task of an example, done."""
    preset, settings = program_training(EXAMPLES[name], steps=steps)
    job = begin(folder, corpus_name=f"program:{name}", preset=preset, settings=settings)
    list(work(job))
    return job


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_trained_model_has_as_many_layers_and_at_least_as_many_heads_as_the_compiled_one(name: str):
    compiled = example(name)[0].config
    preset, settings = program_training(EXAMPLES[name])
    ours = settings.model
    assert preset == ("tiny-decoder" if EXAMPLES[name].is_causal else "tiny-encoder")
    assert ours["n_heads"] == max(4, compiled.n_heads)
    n_layers = {"n_decoder_layers": compiled.n_decoder_layers} if EXAMPLES[name].is_causal else {}
    n_layers = n_layers or {"n_encoder_layers": compiled.n_encoder_layers}
    assert {**ours, **n_layers} == ours
    assert ours["max_seq_len"] == compiled.max_seq_len


def test_the_command_line_says_the_same():
    program = EXAMPLES["shift"]
    words = train_arguments("program:shift", program, steps=7, seed=3)
    assert words[:4] == ["--corpus", "program:shift", "--preset", "tiny-decoder"]
    assert {*words[4::2]} == {"--set"}
    assert parse_settings(words[5::2]) == program_training(program, steps=7, seed=3)[1]


@pytest.mark.training
def test_a_model_learns_to_shift_and_its_head_attends_to_the_token_before(tmp_path: Path):
    job = trained(tmp_path / "run", "shift", steps=100)
    assert job.metrics["accuracy"] > 0.99
    keep_run(tmp_path / "run", tmp_path / "kept")
    describe_heads(tmp_path / "run", tmp_path / "kept", n_scored=16)
    model, tokenizer = load(tmp_path / "kept")
    card = read_card(tmp_path / "kept")
    assert card["corpus"]["name"] == "program:shift"
    assert {*card["metrics"]} == {"loss", "accuracy"}
    assert card["heads"][0]["previous"] > 0.5
    compiled, _ = example("shift")
    (head,) = match_program(compiled, model, tokenizer, job.corpus).heads
    assert head.is_convincing
    assert head.distance < 0.6 < head.by_chance
