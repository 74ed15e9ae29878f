"""Adam and AdamW against the algorithms of their papers in numpy; learning rates against values computed by hand."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn

from transformer_core.errors import RunError
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.optimizer import Adam, learning_rate, warmup_learning_rate

CONFIG = TrainingConfig(steps=10, batch_size=1, warmup_steps=5)


def a_model(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2, bias=False))


def give_gradients(model: nn.Module, gradients: list[np.ndarray]) -> None:
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        parameter.grad = torch.from_numpy(gradient).float()


@pytest.mark.parametrize("weight_decay", [None, 0.0, 0.3])
def test_it_takes_the_steps_of_the_algorithm(weight_decay: float | None):
    """Kingma and Ba 2015, algorithm 1; with decay, Loshchilov and Hutter 2019, algorithm 2, on matrices alone."""
    config = CONFIG if weight_decay is None else replace(CONFIG, optimizer="adamw", weight_decay=weight_decay)
    model = a_model(0)
    optimizer = Adam(model, config)
    expected = [parameter.detach().double().numpy().copy() for parameter in model.parameters()]
    mean = [np.zeros_like(array) for array in expected]
    mean_square = [np.zeros_like(array) for array in expected]
    random = np.random.default_rng(1)
    for step in range(1, 8):
        learning_rate = 0.1 / step
        gradients = [random.normal(size=array.shape) for array in expected]
        for i, gradient in enumerate(gradients):
            mean[i] = 0.9 * mean[i] + 0.1 * gradient
            mean_square[i] = 0.98 * mean_square[i] + 0.02 * gradient**2
            unbiased, unbiased_square = mean[i] / (1 - 0.9**step), mean_square[i] / (1 - 0.98**step)
            decay = (weight_decay or 0.0) * expected[i] if expected[i].ndim >= 2 else 0.0
            expected[i] -= learning_rate * (unbiased / (np.sqrt(unbiased_square) + 1e-9) + decay)
        give_gradients(model, gradients)
        optimizer.step(learning_rate)
        for parameter, array in zip(model.parameters(), expected, strict=True):
            np.testing.assert_allclose(parameter.detach().numpy(), array, rtol=1e-5, atol=1e-6)


def test_tensors_of_another_model_are_refused():
    for name in ("2.weight.exp_avg", "0.weight.velocity", "1.weight.exp_avg"):
        with pytest.raises(RunError, match=name):
            Adam(a_model(0), CONFIG).load({name: torch.zeros(4, 3)})


def test_what_decays_are_the_matrices_of_a_real_model(model: Transformer):
    """By hand: without gradients, a step of AdamW only shrinks what decays, by learning rate times decay."""
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = Adam(model, replace(CONFIG, optimizer="adamw", weight_decay=0.5))
    without, *others = model.parameters()
    for parameter in others:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step(0.1)
    assert torch.equal(without, next(iter(before.values())))  # a parameter without a gradient is left unchanged
    without.grad = torch.zeros_like(without)
    optimizer.step(0.1)
    for name, parameter in model.named_parameters():
        is_matrix = name.endswith(".weight") and ".ln" not in name
        n_steps = 1 if parameter is without else 2
        expected = before[name] * 0.95**n_steps if is_matrix else before[name]
        assert torch.allclose(parameter.detach(), expected, rtol=1e-6, atol=0.0), name


def test_from_its_tensors_it_goes_on_bit_for_bit():
    config = replace(CONFIG, optimizer="adamw", weight_decay=0.1)
    model, twin = a_model(0), a_model(0)
    optimizer = Adam(model, config)
    assert optimizer.tensors() == {}
    random = np.random.default_rng(2)
    gradients = [[random.normal(size=p.shape) for p in model.parameters()] for _ in range(6)]
    for step_gradients in gradients[:3]:
        give_gradients(model, step_gradients)
        optimizer.step(0.01)

    twin.load_state_dict(model.state_dict())
    twin_optimizer = Adam(twin, config)
    twin_optimizer.load(optimizer.tensors())
    for step_gradients in gradients[3:]:
        give_gradients(model, step_gradients)
        give_gradients(twin, step_gradients)
        optimizer.step(0.01)
        twin_optimizer.step(0.01)
    for parameter, twin_parameter in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(parameter, twin_parameter)


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
