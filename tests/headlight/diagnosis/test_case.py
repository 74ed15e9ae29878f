"""The facts that rules share."""

import pytest
import torch

from headlight.diagnosis.case import USUAL_RATE_TIMES_WIDTH
from tests.headlight.diagnosis.records import a_case, falling, logged
from transformer_core.errors import RunError
from transformer_core.training.config import TrainingConfig
from transformer_core.training.objective import label_smoothed_cross_entropy
from transformer_core.training.optimizer import learning_rate


@pytest.mark.parametrize(("d_model", "warmup_steps"), [(512, 4000), (16, 6)])
@pytest.mark.parametrize("schedule", ["paper", "cosine", "constant"])
def test_the_usual_factor_gives_the_usual_rate(d_model: int, warmup_steps: int, schedule):
    """The oracle is the schedule itself, at its highest."""
    case = a_case([], d_model=d_model, warmup_steps=warmup_steps)
    config = TrainingConfig(
        steps=9999,
        batch_size=1,
        warmup_steps=warmup_steps,
        schedule=schedule,
        learning_rate_factor=case.usual_factor,
    )
    highest = max(learning_rate(step, config, d_model=d_model) for step in range(1, 9999))
    assert highest * d_model == pytest.approx(USUAL_RATE_TIMES_WIDTH)


def test_a_rate_that_still_rises_is_known_as_such():
    way_up = logged(falling(1.0), until=60)
    assert a_case(way_up).rate_ratio == pytest.approx(0.6)
    assert a_case(way_up).is_rate_rising
    assert not a_case(way_up, steps=60).is_rate_rising
    assert not a_case(logged(falling(1.0))).is_rate_rising
    assert a_case([{"step": 500, "loss": 1.0}]).rate_ratio is None


def test_what_will_stay_as_it_is():
    settled = {400: False, 600: True}  # it may be the beginning
    assert {until: a_case(logged(lambda step: 2.0, until=until)).is_settled for until in settled} == settled


@pytest.mark.parametrize(
    ("curve", "trend"),
    [
        (lambda step: 4.0 - step / 500, "falling"),
        (lambda step: 2.0 + step / 500, "rising"),
        (lambda step: 2.0, "flat"),
        (lambda step: 4.6 - 3.6 * min(1.0, step / 100), "flat"),  # all of it in the warm-up
    ],
)
def test_where_the_loss_is_going(curve, trend: str):
    assert a_case(logged(curve, noise=0.001)).trend == trend


def test_a_few_records_have_no_trend():
    assert a_case(logged(falling(1.0), every=250)).trend is None
    assert a_case(logged(falling(1.0), every=150)).trend is None  # seven
    assert a_case([]).trend is None
    assert a_case([]).level is None


def test_a_smoothed_loss_bounds_the_plain_one():
    """The oracle is the training's own loss, on logits from even to sure."""
    draw = torch.Generator().manual_seed(0)
    targets = torch.randint(7, (1, 50), generator=draw)
    for scale in (0.0, 0.5, 3.0, 20.0):
        logits = scale * torch.randn(1, 50, 7, generator=draw)
        plain, smoothed = (
            label_smoothed_cross_entropy(logits, targets, smoothing=smoothing).item() for smoothing in (0.0, 0.1)
        )
        assert plain <= a_case([], label_smoothing=0.1, vocab_size=7).unsmoothed(smoothed) + 1e-5


def test_a_count_below_one_is_refused():
    for name in ("steps", "vocab_size", "d_model", "warmup_steps"):
        with pytest.raises(RunError, match=f"{name} must be at least 1 for a diagnosis, got 0"):
            a_case([], **{name: 0})
