"""The facts that rules share."""

import math

import pytest
import torch

from tests.training.diagnosis.records import a_case, falling, logged, measured
from transformer_core.errors import RunError
from transformer_core.training.config import TrainingConfig
from transformer_core.training.diagnosis.case import USUAL_RATE_TIMES_WIDTH
from transformer_core.training.objective import label_smoothed_cross_entropy
from transformer_core.training.schedule import learning_rate


@pytest.mark.parametrize(("d_model", "warmup_steps"), [(512, 4000), (128, 150), (16, 6)])
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


def test_the_papers_own_rate_is_usual():
    config = TrainingConfig(steps=100_000, batch_size=1, warmup_steps=4000)
    rates = [learning_rate(step, config, d_model=512) for step in (1, 2000, 4000, 8000)]
    log = [{"step": step, "loss": 3.0, "learning_rate": rate} for step, rate in enumerate(rates, start=4000)]
    assert a_case(log, d_model=512).rate_ratio == pytest.approx(0.9, abs=0.05)


def test_a_rate_that_still_rises_is_known_as_such():
    way_up = logged(falling(1.0), until=60)
    assert a_case(way_up).rate_ratio == pytest.approx(0.6)
    assert a_case(way_up).is_rate_rising
    assert not a_case(way_up, steps=60).is_rate_rising
    assert not a_case(logged(falling(1.0))).is_rate_rising
    assert a_case([{"step": 500, "loss": 1.0}]).rate_ratio is None


@pytest.mark.parametrize(
    ("curve", "until", "is_settled"),
    [
        (lambda step: 2.0, 400, False),  # it may be the beginning
        (lambda step: 2.0, 600, True),
        (lambda step: 4.0 - step / 500, 600, False),
        (lambda step: 4.0 - step / 500, 1000, True),
    ],
)
def test_what_will_stay_as_it_is(curve, until: int, is_settled: bool):
    assert a_case(logged(curve, until=until)).is_settled == is_settled


@pytest.mark.parametrize(
    ("curve", "trend"),
    [
        (lambda step: 4.0 - step / 500, "falling"),
        (lambda step: 2.0 + step / 500, "rising"),
        (lambda step: 2.0, "flat"),
        (lambda step: 2.0 - step / 25_000, "flat"),  # 0.7 % from third to third
        (lambda step: 2.0 - step / 5_000, "falling"),  # 3.5 %
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


def test_the_loss_is_that_of_held_out_data_where_there_is_one():
    log = logged(falling(1.0, half_life=20), noise=0.0)
    assert a_case(log).loss == pytest.approx(1.0)
    assert a_case([*log, measured(500, 3.0), measured(1000, 2.0)]).loss == 2.0


@pytest.mark.parametrize("name", ["steps", "vocab_size", "d_model", "warmup_steps"])
def test_a_count_below_one_is_refused(name: str):
    with pytest.raises(RunError, match=f"{name} must be at least 1 for a diagnosis, got 0"):
        a_case([], **{name: 0})


def test_epochs_are_known_where_tokens_were_counted():
    assert a_case([], tokens_seen=150, n_training_tokens=100).epochs == 1.5
    assert a_case([], tokens_seen=None).epochs is None
    assert a_case([], n_training_tokens=None).epochs is None
    assert a_case([], n_training_tokens=0).epochs is None
    assert a_case([], vocab_size=8).even_entropy == pytest.approx(3 * math.log(2))


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
        assert a_case([], label_smoothing=0.0, vocab_size=7).unsmoothed(plain) == pytest.approx(plain)
    even = torch.zeros(1, 50, 7)
    smoothed = label_smoothed_cross_entropy(even, targets, smoothing=0.3).item()
    assert a_case([], label_smoothing=0.3, vocab_size=7).unsmoothed(smoothed) == pytest.approx(math.log(7), abs=1e-5)
