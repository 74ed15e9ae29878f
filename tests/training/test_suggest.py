"""How many steps are proposed for a text: as many as it is good for and as the machine does in time."""

import pytest

from transformer_core.training.presets import preset_training
from transformer_core.training.suggest import LEAST_STEPS, MOST_EPOCHS, MOST_SECONDS, suggest

USUAL = preset_training("tiny-decoder", "")  # 4,000 steps of 32


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
    found = suggest(USUAL, n_rows=n_rows, seconds_per_step=seconds_per_step)
    training = found.training
    assert training.steps == steps
    assert found.is_shorter == (steps < USUAL.steps)
    if steps > LEAST_STEPS:
        assert steps * 32 / n_rows <= MOST_EPOCHS and steps * seconds_per_step <= MOST_SECONDS
    if found.is_shorter:
        assert training.warmup_steps <= steps / 5 and training.evaluate_every <= steps / 4
    else:
        assert training == USUAL
