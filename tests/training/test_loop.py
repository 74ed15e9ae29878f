"""The loop: its records, equal losses when repeated, after a break, and however a batch is computed."""

import math
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from transformer_core.corpora.batch_order import IGNORED
from transformer_core.corpora.batching import PairBatches
from transformer_core.errors import RunError
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import train
from transformer_core.training.optimizer import Adam


def losses(model: Transformer, batches: PairBatches, config: TrainingConfig) -> list[float]:
    return [record.loss for record in train(deepcopy(model), deepcopy(batches), config)]


def test_the_first_record(model: Transformer, batches: PairBatches, config: TrainingConfig):
    without_dropout = deepcopy(model).eval()
    batch = next(deepcopy(batches))
    logits = without_dropout(*batch.inputs)
    loss = F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED, label_smoothing=0.1)
    gradients = torch.autograd.grad(loss, list(without_dropout.parameters()))
    norm = math.sqrt(sum(gradient.double().pow(2).sum().item() for gradient in gradients))

    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    record = next(train(model, batches, config))
    assert record.step == 1
    assert record.loss == pytest.approx(loss.item(), rel=1e-5)
    assert record.gradient_norm == pytest.approx(norm, rel=1e-4)
    assert record.learning_rate == pytest.approx(0.5 * 16**-0.5 * 6**-1.5)
    assert record.tokens_per_second > 0


def test_what_happens_between_two_steps_changes_nothing(
    model: Transformer, batches: PairBatches, config: TrainingConfig
):
    expected = losses(model, batches, config)
    disturbed = []
    for record in train(model, batches, config):
        disturbed.append(record.loss)
        torch.rand(record.step)
        model.eval()
    assert disturbed == expected
    assert losses(model, batches, replace(config, seed=1)) != expected  # other dropout


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": "adamw", "weight_decay": 0.1, "accumulate": 3},
        {"schedule": "cosine", "learning_rate_floor": 0.1, "rate_changes": ((4, 0.5), (7, 2.0))},
    ],
)
def test_after_a_break_the_losses_are_those_of_an_unbroken_run(
    model: Transformer, batches: PairBatches, config: TrainingConfig, changes: dict[str, Any]
):
    config = replace(config, steps=8, **changes)
    expected = losses(model, batches, config)
    resumed = deepcopy(model)
    optimizer = Adam(model, config)
    steps = train(model, batches, config, optimizer=optimizer)
    first = [next(steps).loss for _ in range(5)]
    steps.close()

    resumed.load_state_dict(model.state_dict())
    resumed_optimizer = Adam(resumed, config)
    resumed_optimizer.load(optimizer.tensors())
    rest = train(resumed, batches, config, optimizer=resumed_optimizer, steps_done=5)
    assert first + [record.loss for record in rest] == expected


def test_the_gradient_is_no_longer_than_allowed(model: Transformer, batches: PairBatches, config: TrainingConfig):
    for clip_norm in (0.01, None):
        record = next(train(model, batches, replace(config, clip_norm=clip_norm)))
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        norm = math.sqrt(sum(gradient.pow(2).sum().item() for gradient in gradients))
        assert norm == pytest.approx(0.01 if clip_norm else record.gradient_norm, rel=1e-3)


@pytest.mark.parametrize("part", ["loss", "gradient"])
def test_a_number_that_is_not_finite_stops_before_it_spoils_the_weights(
    model: Transformer, batches: PairBatches, config: TrainingConfig, part: str
):
    steps = train(model, batches, replace(config, clip_norm=None))
    next(steps)
    if part == "loss":
        next(model.parameters()).data.fill_(math.inf)
    else:
        next(model.parameters()).register_hook(lambda gradient: gradient * math.inf)
    before = [parameter.clone() for parameter in model.parameters()]
    with pytest.raises(RunError, match=rf"the {part}.* became (inf|nan) at step 2; .*\(now 0.5\) .*, or clip_norm 1$"):
        next(steps)
    for parameter, former in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, former)


def stretch(model: Transformer, factor: float) -> None:
    """Make the model as sure of what it says as nobody should be: its logits times the factor."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "ln" not in name:
                parameter.mul_(factor)


def test_a_loss_that_stays_far_above_that_of_guessing_stops_the_training(
    model: Transformer, batches: PairBatches, config: TrainingConfig
):
    config = replace(config, learning_rate_factor=1e-9, steps=20)
    unchanged = deepcopy(model)
    steps = train(model, batches, config)
    first = next(steps).loss
    limit = 3 * max(first, math.log(model.config.vocab_size))
    assert next(steps).loss < limit
    stretch(model, 50.0)
    assert all(next(steps).loss > limit for _ in range(4))
    for parameter, normal in zip(model.parameters(), unchanged.parameters(), strict=True):
        parameter.data.copy_(normal)
    assert next(steps).loss < limit  # one good step, and it counts from the start again
    stretch(model, 50.0)
    assert all(next(steps).loss > limit for _ in range(4))
    with pytest.raises(
        RunError, match=rf"exploded: at step 12 .* has been above {limit:.1f} for 5 steps\. Start a new run"
    ):
        next(steps)
    high = list(train(model, batches, replace(config, steps=6)))  # a model may begin with a high loss
    assert high[0].loss > 3 * math.log(model.config.vocab_size)
    assert len(high) == 6


def test_products_of_half_precision_and_weights_of_full(
    model: Transformer, batches: PairBatches, config: TrainingConfig
):
    config = replace(config, steps=4)
    expected = losses(model, batches, config)
    seen: list[torch.dtype] = []
    model.register_forward_hook(lambda module, inputs, logits: seen.append(logits.dtype))
    actual = losses(model, batches, replace(config, precision="bf16"))
    assert set(seen) == {torch.bfloat16}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert actual != expected
    assert actual == pytest.approx(expected, rel=0.05)
