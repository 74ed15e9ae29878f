"""The learning rate against values computed by hand."""

from dataclasses import replace
from typing import Literal

import pytest

from transformer_core.training.config import TrainingConfig
from transformer_core.training.schedule import learning_rate, warmup_learning_rate


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (1, 1.746928e-07),  # 512^-0.5 * 4000^-1.5 = 0.0441942 * 3.952847e-06
        (1000, 1.746928e-04),
        (4000, 6.987712e-04),  # the peak: (512 * 4000)^-0.5 = 1431.0835^-1
        (16000, 3.493856e-04),  # four times as far, half as high
        (100_000, 1.397542e-04),
    ],
)
def test_the_paper_s_base_model_by_hand(step: int, expected: float):
    assert warmup_learning_rate(step, d_model=512, warmup_steps=4000) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("step", "share"),
    [
        (20, 0.8535534),  # a quarter of the way down: (1 + cos 45 degrees) / 2
        (30, 0.5),  # half of the way down
        (49, 0.0015413),  # (1 + cos 175.5 degrees) / 2: the last step, one before 0
    ],
)
def test_the_cosine_by_hand(step: int, share: float):
    """The highest rate is (160 * 10)^-0.5 = 1/40; the warm-up knows of no floor."""
    config = TrainingConfig(steps=49, batch_size=1, warmup_steps=10, schedule="cosine")
    for floor in (0.0, 0.2):
        floored = replace(config, learning_rate_floor=floor)
        assert learning_rate(step, floored, d_model=160) == pytest.approx(
            0.025 * (floor + (1 - floor) * share), rel=1e-4
        )
        assert [learning_rate(early, floored, d_model=160) for early in (5, 10)] == pytest.approx([0.0125, 0.025])


@pytest.mark.parametrize(("step", "expected"), [(1, 0.0025), (5, 0.0125), (10, 0.025), (11, 0.025), (5000, 0.025)])
def test_the_constant_rate_by_hand(step: int, expected: float):
    """(160 * 10)^-0.5 = 1/40 is the highest."""
    config = TrainingConfig(steps=5000, batch_size=1, warmup_steps=10, schedule="constant")
    assert learning_rate(step, config, d_model=160) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("schedule", ["paper", "cosine", "constant"])
def test_from_each_changed_step_on_the_rate_is_the_scheduled_one_times_that_factor(schedule: Literal["paper"]):
    config = TrainingConfig(
        steps=100, batch_size=1, warmup_steps=20, schedule=schedule, learning_rate_factor=2.0, learning_rate_floor=0.1
    )
    changed = replace(config, rate_changes=((5, 0.5), (40, 3.0)))
    for step in range(1, 101):
        factor = 1.0 if step < 5 else 0.5 if step < 40 else 3.0
        scheduled = learning_rate(step, config, d_model=64)
        assert learning_rate(step, changed, d_model=64) == pytest.approx(factor * scheduled, rel=1e-12)
