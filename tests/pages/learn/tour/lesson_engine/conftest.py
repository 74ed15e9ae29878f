"""Models and evidence for the tests of lessons, each made once."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.run import run
from pages.learn.tour.lesson_engine.six_words import train_six_words
from pages.learn.tour.lesson_engine.value import Values

ROOT = Path(__file__).resolve().parents[5]
MakeEvidence = Callable[..., Evidence]

load = cache(lambda name: tc.load(ROOT / "checkpoints" / name))
card = cache(lambda name: tc.read_card(ROOT / "checkpoints" / name))
run_once = cache(
    lambda name, text, target, padding, mistake: run(
        *load(name), text, target=target, padding=padding, mistake=mistake, card=card(name)
    )
)
train = cache(
    lambda smoothing, is_shifted, steps: train_six_words(smoothing=smoothing, is_shifted=is_shifted, steps=steps)
)


@pytest.fixture(scope="session")
def make_evidence() -> MakeEvidence:
    """Gives the evidence of a shipped model on a text: `make_evidence("en-fr", "The cat sees the dog.")`."""

    def make(
        name: str, text: str, *, mistake: str = "", target: str | None = None, padding: int = 0, other: str = ""
    ) -> Evidence:
        return Evidence(make_run=partial(_run, name, text, target, padding, other), train=train, mistake=mistake)

    return make


def array(evidence: Evidence, source: str) -> np.ndarray:
    """The values of an expression."""
    actual = evidence.ask(source)
    assert isinstance(actual, Values)
    return actual.array.astype(np.float64)


def _run(name: str, text: str, target: str | None, padding: int, other: str, mistake: str, is_other: bool):
    return run_once(name, other if is_other else text, None if is_other else target, padding, mistake)
