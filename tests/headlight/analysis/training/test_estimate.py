"""The estimate: matrix products as torch counts them, the seconds they take, and how many steps that suggests."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from headlight.analysis.training import estimate
from headlight.analysis.training.estimate import (
    LEAST_STEPS,
    MOST_EPOCHS,
    MOST_SECONDS,
    estimated_seconds,
    products_per_second,
    suggest,
)
from transformer_core.config import ModelConfig
from transformer_core.model.presets import PRESETS
from transformer_core.model.transformer import build
from transformer_core.training.config import TrainingConfig
from transformer_core.training.presets import preset_training

ROWS, POS = 4, 12
USUAL = preset_training("tiny-decoder", "")  # 4,000 steps of 32
TRAINING = TrainingConfig(steps=10, batch_size=ROWS, warmup_steps=1)


@pytest.fixture
def products_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing costs anything but products, and all of the machine's speed is reached."""
    monkeypatch.setattr(estimate, "_SHARE", 1.0)
    monkeypatch.setattr(estimate, "_BEGINNINGS", 0.0)
    monkeypatch.setattr(estimate, "_STEP", 0.0)


def products_of_a_step(config: ModelConfig) -> float:
    """Count those of a forward and a backward pass, as torch does: an operation is half a product."""
    model = build(config)
    tokens = torch.randint(4, config.vocab_size, (ROWS, POS))
    inputs = (tokens, tokens) if config.architecture == "encoder_decoder" else (tokens,)
    with FlopCounterMode(display=False) as counter:
        model(*inputs).sum().backward()
    return counter.get_total_flops() / 2


@pytest.mark.parametrize("preset", ["tiny", "tiny-decoder", "tiny-encoder"])
def test_the_products_are_those_that_torch_counts(products_alone: None, preset: str):
    """But for scores and weighted values, which grow with the length, and are few in short texts."""
    config = PRESETS[preset](50)
    per_row = POS * (2 if config.architecture == "encoder_decoder" else 1)
    seconds = estimated_seconds(config, TRAINING, tokens_per_row=float(per_row), products_per_second=1e9)
    assert seconds * 1e9 / TRAINING.steps == pytest.approx(products_of_a_step(config), rel=0.12)


def test_more_of_it_takes_longer_up_to_rows_as_long_as_the_model_takes(products_alone: None):
    def seconds(preset: str, tokens_per_row: float, **changes: Any) -> float:
        config = replace(PRESETS[preset](50), max_seq_len=16)
        training = replace(TRAINING, **changes)
        return estimated_seconds(config, training, tokens_per_row=tokens_per_row, products_per_second=1e9)

    once = seconds("tiny", 24.0)
    for changes, factor in (({"steps": 30}, 3), ({"batch_size": 2 * ROWS}, 2), ({"accumulate": 2}, 1)):
        assert seconds("tiny", 24.0, **changes) == pytest.approx(factor * once)
    for preset, most in (("tiny-decoder", 16), ("tiny-encoder", 16), ("tiny", 2 * 16)):
        assert seconds(preset, 1e6) == seconds(preset, float(most)) > seconds(preset, 15.0)


def test_the_machine_has_a_speed_that_is_measured_once():
    assert products_per_second() > 1e6
    assert products_per_second() == products_per_second()


@pytest.mark.parametrize(
    ("n_rows", "seconds_per_step", "steps"),
    [
        (100_000, 0.01, 4_000),  # large, and a fast machine: the preset's
        (100_000, 0.0, 4_000),  # a machine of which nothing is known
        (16, 0.01, LEAST_STEPS),  # tiny
        (320, 0.01, 1_000),  # 100 times
        (100_000, 0.8, 1_500),  # 20 minutes
    ],
)
def test_as_many_steps_as_make_sense(n_rows: int, seconds_per_step: float, steps: int):
    actual = suggest(USUAL, n_rows=n_rows, seconds_per_step=seconds_per_step)
    training = actual.training
    assert training.steps == steps
    assert actual.is_shorter == (steps < USUAL.steps)
    if steps > LEAST_STEPS:
        assert steps * 32 / n_rows <= MOST_EPOCHS and steps * seconds_per_step <= MOST_SECONDS
    if actual.is_shorter:
        assert training.warmup_steps <= steps / 5 and training.evaluate_every <= steps / 4
    else:
        assert training == USUAL
