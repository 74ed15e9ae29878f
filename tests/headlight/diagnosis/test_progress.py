"""How far a training has come."""

import math
from collections import deque
from itertools import cycle

import pytest
import torch

from tests.headlight.diagnosis.records import STEPS, a_case, diagnose, falling, kinds, logged, measured, the
from transformer_core.corpora.batch_order import Batch
from transformer_core.errors import Message, RunError
from transformer_core.model.presets import PRESETS
from transformer_core.model.transformer import build
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import train


def test_nothing_is_judged_before_there_is_anything():
    (actual,) = diagnose(a_case([]))
    assert (actual.kind, actual.severity) == ("too_early", "note")


@pytest.mark.parametrize("until", [1, 100])
def test_the_warmup_is_not_judged(until: int):
    (actual,) = diagnose(a_case(logged(falling(0.5), until=until)))
    assert actual.kind == "too_early"
    assert actual.evidence.startswith(f"Step {until} of 1,000, during the warm-up")


def test_after_the_warmup_it_is_judged():
    assert "too_early" not in kinds(a_case(logged(falling(0.5), until=150)))
    long_warmup = a_case(logged(falling(0.5), until=300), warmup_steps=4000)
    assert "too_early" not in kinds(long_warmup)  # nobody waits for the end of a warm-up that will not come


def test_an_ended_training_is_judged_however_short():
    run = a_case([{"step": 1, "loss": 4.7}, {"step": 3, "loss": 4.5}], steps=3, unigram_entropy=None)
    assert "ended after 3 steps" in the("undertrained", run).evidence


def test_a_loss_that_still_falls():
    half_way = a_case(logged(lambda step: 4.0 - step / 500, until=600))
    assert the("undertrained", half_way).severity == "note"
    assert the("undertrained", half_way).advice == "Wait for all 1,000 steps."
    assert the("undertrained", a_case(logged(lambda step: 4.6 - step / 2000))).severity == "problem"


def test_a_loss_that_stands_still():
    stuck = a_case([*logged(falling(2.8, half_life=40)), measured(500, 2.8), measured(1000, 2.8)])
    actual = the("plateau", stuck)
    assert actual.severity == "note"
    frequencies = a_case([*logged(falling(4.0, half_life=40)), measured(500, 4.0), measured(1000, 4.0)])
    assert the("plateau", frequencies).severity == "problem"
    early = a_case([*logged(falling(2.8, half_life=40), until=400), measured(400, 2.8)])
    assert "plateau" not in kinds(early)


def test_single_tokens_right_and_outputs_wrong():
    run = a_case([*logged(falling(0.3)), measured(STEPS, 0.3, accuracy=0.92, exact_match=0.35)])
    actual = the("exposure_gap", run)
    assert "92%" in actual.evidence and "35%" in actual.evidence


@pytest.mark.parametrize("loss", [math.nan, math.inf, None])
def test_a_number_that_ran_away_is_told_alone(loss: float | None):
    (actual,) = diagnose(a_case([*logged(falling(2.0), until=200), {"step": 210, "loss": loss}]))
    assert (actual.kind, actual.severity, actual.title) == ("failed", "problem", "Training diverged")
    assert "step 210" in actual.evidence


def test_another_failure_is_no_divergence():
    (actual,) = diagnose(a_case(logged(falling(2.0), until=200), failure=Message("the disk is full.")))
    assert (actual.title, actual.evidence) == ("Training failed", "the disk is full.")
    assert "Learning rate" not in actual.advice


@pytest.mark.parametrize("broken", ["weight", "gradient", "loss"])
def test_a_divergence_is_known_by_what_the_training_loop_says(broken: str):
    """Of a step that failed so nothing is logged."""
    config = TrainingConfig(steps=9, warmup_steps=1, batch_size=4, clip_norm=None)
    model = build(PRESETS["tiny-decoder"](20).changed(d_model=16, n_heads=2, d_ff=16, n_decoder_layers=1), seed=0)
    row = torch.arange(4, 12)[None].repeat(4, 1)
    steps = train(model, cycle([Batch((row,), row.roll(-1))]), config)
    next(steps)
    if broken == "gradient":
        next(model.parameters()).register_hook(lambda gradient: gradient * math.inf)
    else:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(math.nan) if broken == "weight" else parameter.mul_(100)
    with pytest.raises(RunError) as error:
        deque(steps, maxlen=0)
    (actual,) = diagnose(a_case(logged(falling(2.0), until=1), failure=error.value.message))
    assert actual.title == "Training diverged"
    assert actual.advice.startswith("Learning rate: try 0.17 (now 0.5)")


@pytest.mark.parametrize("until, title", [(20, "Too early to tell"), (200, "Stopped while still improving")])
def test_who_stopped_a_training_is_told_to_go_on(until: int, title: str):
    (actual,) = diagnose(a_case(logged(falling(2.0), until=until), steps=1000, is_stopped=True))
    assert (actual.title, actual.severity) == (title, "note")
    assert actual.advice == "Resume the run: 1,000 steps are planned."


def test_much_dropout_is_named_first():
    stuck = [*logged(falling(2.8, half_life=40)), measured(1000, 2.8)]
    assert the("plateau", a_case(stuck, dropout=0.5)).advice.startswith("Dropout: try 0.1 (now 0.5)")
    assert "Dropout" not in the("plateau", a_case(stuck, dropout=0.1)).advice
