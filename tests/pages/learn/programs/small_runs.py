"""A program as the page Programs shows it, and a short training on its task."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from pages.learn.programs.training import corpus_of
from transformer_core.checkpoints.compiled import write_program
from transformer_core.corpora import program_inputs
from transformer_core.model.transformer import Transformer
from transformer_core.programs import compile as compile_program
from transformer_core.programs.examples import example_of
from transformer_core.programs.language import Program
from transformer_core.text.tokenizer import OwnTokenizer
from transformer_core.training.program_task import program_training
from transformer_core.training.run.begin import begin
from transformer_core.training.run.worker import work

STEPS = 2


@dataclass(frozen=True)
class Shown:
    """What the page shows."""

    program: Program
    compiled: tuple[Transformer, OwnTokenizer]
    tokens: tuple[str, ...]

    @classmethod
    def of(cls, program: Program, text: str = "b a d") -> "Shown":
        """A program on an input."""
        return cls(program, compile_program(program), tuple(text.split()))


def few_inputs(patch: pytest.MonkeyPatch) -> None:
    """Let tasks have few inputs."""
    patch.setattr(program_inputs, "N_TRAIN", 200)
    patch.setattr(program_inputs, "N_HELD_OUT", 20)


def train(place: Path, program: Program) -> None:
    """Do a whole small training in a folder."""
    preset, settings = program_training(program, steps=STEPS)
    corpus = corpus_of(program)
    if not example_of(program):
        write_program(corpus.removeprefix("program:"), program)
    list(work(begin(place, corpus_name=corpus, preset=preset, settings=settings)))
