"""Valid and invalid training configurations."""

import json
import math
from typing import Any

import pytest

from transformer_core.errors import ConfigError
from transformer_core.training.config import TrainingConfig

NEEDED: dict[str, Any] = {"steps": 10, "batch_size": 4, "warmup_steps": 5}


@pytest.mark.parametrize(
    ("steps", "wanted_interval"), [(1, 500), (3, 500), (5, 500), (7, 1000), (99, 500), (600, 600), (100_000, 500)]
)
def test_held_out_data_are_measured_five_times_at_least(steps: int, wanted_interval: int):
    interval = TrainingConfig(**(NEEDED | {"steps": steps}), evaluate_every=wanted_interval).evaluation_interval
    measured = {*range(interval, steps + 1, interval), steps}  # as the worker does, and at the end
    assert len(measured) >= min(5, steps)
    assert interval <= wanted_interval


def test_it_goes_through_json_unchanged():
    config = TrainingConfig(**NEEDED, clip_norm=None, rate_changes=((3, 0.5), (7, 2.0)), guided_head="encoder.10.3")
    assert config.guided == (10, 3)
    assert TrainingConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


NONSENSE: dict[str, tuple[Any, ...]] = {
    **{"steps": (0, True), "batch_size": (-1,), "warmup_steps": (0,), "seed": (-1, 2**32), "accumulate": (0,)},
    **{"label_smoothing": (1.0, math.nan), "adam_beta2": (1.0,), "adam_eps": (0.0,), "film_megabytes": (-1,)},
    **{"learning_rate_factor": (0.0, math.inf), "clip_norm": (0.0,), "learning_rate_floor": (1.0, -0.1)},
    **{"log_every": (0,), "save_every": (0,), "evaluate_every": (0,), "evaluate_pairs": (0,)},
    **{"weight_decay": (-0.1, math.nan), "guidance_weight": (0.0, math.nan)},
    "guided_head": ("encoder.1", "cross.1.0", "encoder.-1.0", ""),
}


@pytest.mark.parametrize("field", NONSENSE)
def test_what_makes_no_sense_is_refused_by_name(field: str):
    for value in NONSENSE[field]:
        with pytest.raises(ConfigError, match=f"^{field} .*got {value!r}"):
            TrainingConfig(**(NEEDED | {field: value}))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"accumulate": 5}, r"accumulate \(5\) must be at most batch_size \(4\)"),
        ({"weight_decay": 0.1}, r"weight_decay \(0.1\) needs optimizer=adamw"),
        ({"guided_head": "encoder.1.0", "compile": True}, "guided_head needs the attention pattern, which compile"),
        ({"rate_changes": ((0, 0.5),)}, "increasing steps, starting at 1 or later; got 0 after 0"),
        ({"rate_changes": ((5, 0.5), (3, 0.1))}, "got 3 after 5"),
        ({"rate_changes": ((5, float("nan")),)}, "must be above 0, got nan at step 5"),
    ],
)
def test_what_does_not_go_together_is_refused(fields: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        TrainingConfig(**(NEEDED | fields))


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("field", "values", "known"),
    [
        ("schedule", ("linear", None), "one of paper, cosine, constant;"),
        ("precision", ("fp16", 32), "one of fp32, bf16;"),
        ("compile", (1, "true"), "true or false,"),
    ],
)
def test_a_choice_is_one_of_the_known(field: str, values: tuple[Any, ...], known: str):
    for value in values:
        with pytest.raises(ConfigError, match=f"^{field} must be {known} got {value!r}"):
            TrainingConfig(**NEEDED | {field: value})
