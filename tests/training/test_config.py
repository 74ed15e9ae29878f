"""What a training configuration accepts, and how it refuses."""

import json
from collections.abc import Iterator
from typing import Any

import jaxtyping
import pytest

from transformer_core.errors import ConfigError
from transformer_core.training.config import TrainingConfig

NEEDED: dict[str, Any] = {"steps": 10, "batch_size": 4, "warmup_steps": 5}


def test_the_defaults_are_the_paper_s():
    config = TrainingConfig(**NEEDED)
    assert (config.adam_beta1, config.adam_beta2, config.adam_eps) == (0.9, 0.98, 1e-9)
    assert config.label_smoothing == 0.1
    assert config.learning_rate_factor == 1.0


@pytest.mark.parametrize(
    ("steps", "asked"), [(1, 500), (3, 500), (5, 500), (7, 1000), (99, 500), (600, 600), (100_000, 500)]
)
def test_held_out_data_are_measured_five_times_at_least(steps: int, asked: int):
    interval = TrainingConfig(**(NEEDED | {"steps": steps}), evaluate_every=asked).evaluation_interval
    measured = {*range(interval, steps + 1, interval), steps}  # as the worker does, and at the end
    assert len(measured) >= min(5, steps)
    assert interval <= asked


def test_it_goes_through_json_unchanged():
    config = TrainingConfig(**NEEDED, clip_norm=None, rate_changes=((3, 0.5), (7, 2.0)), guided_head="encoder.10.3")
    assert config.guided == (10, 3)
    assert TrainingConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", 0),
        ("steps", True),
        ("batch_size", -1),
        ("warmup_steps", 0),
        ("seed", -1),
        ("seed", 2**32),
        ("label_smoothing", 1.0),
        ("label_smoothing", float("nan")),
        ("adam_beta2", 1.0),
        ("adam_eps", 0.0),
        ("learning_rate_factor", 0.0),
        ("learning_rate_factor", float("inf")),
        ("clip_norm", 0.0),
        ("log_every", 0),
        ("save_every", 0),
        ("evaluate_every", 0),
        ("evaluate_pairs", 0),
        ("accumulate", 0),
        ("film_megabytes", -1),
        ("learning_rate_floor", 1.0),
        ("learning_rate_floor", -0.1),
        ("weight_decay", -0.1),
        ("weight_decay", float("nan")),
        ("guidance_weight", 0.0),
        ("guidance_weight", float("nan")),
        ("guided_head", "encoder.1"),
        ("guided_head", "cross.1.0"),
        ("guided_head", "encoder.-1.0"),
        ("guided_head", ""),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(field: str, value: Any):
    with pytest.raises(ConfigError, match=f"^{field} .*got {value!r}"):
        TrainingConfig(**(NEEDED | {field: value}))


@pytest.fixture
def without_type_checks() -> Iterator[None]:
    """What comes from a file or the command line has no types yet: the words must be ours."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("value", ["linear", "", None])
def test_a_schedule_is_one_of_the_known(value: Any):
    with pytest.raises(ConfigError, match=f"^schedule must be one of paper, cosine, constant; got {value!r}"):
        TrainingConfig(**NEEDED, schedule=value)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("value", ["fp16", "", None, 32])
def test_a_precision_is_one_of_the_known(value: Any):
    with pytest.raises(ConfigError, match=f"^precision must be one of fp32, bf16; got {value!r}"):
        TrainingConfig(**NEEDED, precision=value)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("value", ["sgd", "", None])
def test_an_optimizer_is_one_of_the_known(value: Any):
    with pytest.raises(ConfigError, match=f"^optimizer must be one of adam, adamw; got {value!r}"):
        TrainingConfig(**NEEDED, optimizer=value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"accumulate": 5}, r"accumulate \(5\) must be at most batch_size \(4\)"),
        ({"weight_decay": 0.1}, r"weight_decay \(0.1\) needs optimizer=adamw"),
        ({"guided_head": "encoder.1.0", "compile": True}, "guided_head needs the attention pattern, which compile"),
        ({"rate_changes": ((0, 0.5),)}, "increasing steps, starting at 1 or later; got 0 after 0"),
        ({"rate_changes": ((5, 0.5), (5, 0.1))}, "got 5 after 5"),
        ({"rate_changes": ((5, 0.5), (3, 0.1))}, "got 3 after 5"),
        ({"rate_changes": ((5, 0.0),)}, "must be above 0, got 0.0 at step 5"),
        ({"rate_changes": ((5, float("nan")),)}, "must be above 0, got nan at step 5"),
        ({"rate_changes": ((5, float("inf")),)}, "must be above 0, got inf at step 5"),
    ],
)
def test_what_does_not_go_together_is_refused(fields: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        TrainingConfig(**(NEEDED | fields))


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("value", [1, "true", None])
def test_compiled_or_not(value: Any):
    with pytest.raises(ConfigError, match=f"^compile must be true or false, got {value!r}"):
        TrainingConfig(**NEEDED, compile=value)
