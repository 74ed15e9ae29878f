"""The loop: what a record says, the same losses again, and the same losses after a break."""

import math
from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from transformer_core.corpora.batching import IGNORED, PairBatches
from transformer_core.errors import RunError
from transformer_core.model.dropout import Dropout
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import train
from transformer_core.training.optimizer import load_optimizer_tensors, optimizer_tensors, paper_adam


def losses(model: Transformer, batches: PairBatches, config: TrainingConfig) -> list[float]:
    return [record.loss for record in train(deepcopy(model), deepcopy(batches), config)]


def test_the_first_record_by_hand(model: Transformer, batches: PairBatches, config: TrainingConfig):
    without_dropout = deepcopy(model).eval()
    batch = next(deepcopy(batches))
    log_probs = without_dropout(*batch.inputs).log_softmax(-1)
    total, n_tokens = torch.tensor(0.0), 0
    for row, target_row in zip(log_probs, batch.targets, strict=True):
        for log_prob, target in zip(row, target_row, strict=True):
            if target != IGNORED:
                smoothed = torch.full_like(log_prob, 0.1 / len(log_prob))
                smoothed[target] += 0.9
                total, n_tokens = total - (smoothed * log_prob).sum(), n_tokens + 1
    loss = total / n_tokens
    gradients = torch.autograd.grad(loss, list(without_dropout.parameters()))
    norm = math.sqrt(sum(gradient.double().pow(2).sum().item() for gradient in gradients))

    for module in model.modules():
        if isinstance(module, Dropout):
            module.probability = 0.0
    record = next(train(model, batches, config))
    assert record.step == 1
    assert record.loss == pytest.approx(loss.item(), rel=1e-5)
    assert record.gradient_norm == pytest.approx(norm, rel=1e-4)
    assert record.learning_rate == pytest.approx(0.5 * 16**-0.5 * 6**-1.5)
    assert record.tokens_per_second > 0


def test_the_same_call_gives_the_same_losses(model: Transformer, batches: PairBatches, config: TrainingConfig):
    assert losses(model, batches, config) == losses(model, batches, config)
    assert losses(model, batches, config) != losses(model, batches, replace(config, seed=1))  # other dropout


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


def test_after_a_break_the_losses_are_those_of_an_unbroken_run(
    model: Transformer, batches: PairBatches, config: TrainingConfig
):
    expected = losses(model, batches, config)
    resumed = deepcopy(model)
    optimizer = paper_adam(model, config)
    first = [record.loss for record in train(model, batches, replace(config, steps=5), optimizer=optimizer)]

    resumed.load_state_dict(model.state_dict())
    resumed_optimizer = paper_adam(resumed, config)
    load_optimizer_tensors(resumed, resumed_optimizer, optimizer_tensors(model, optimizer))
    rest = train(resumed, batches, config, optimizer=resumed_optimizer, steps_done=5)
    assert first + [record.loss for record in rest] == expected


def test_the_gradient_is_no_longer_than_allowed(model: Transformer, batches: PairBatches, config: TrainingConfig):
    for clip_norm in (0.01, None):
        record = next(train(model, batches, replace(config, clip_norm=clip_norm)))
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        norm = math.sqrt(sum(gradient.pow(2).sum().item() for gradient in gradients))
        assert norm == pytest.approx(0.01 if clip_norm else record.gradient_norm, rel=1e-3)


def test_a_loss_that_is_no_number_stops_before_it_spoils_the_weights(
    model: Transformer, batches: PairBatches, config: TrainingConfig
):
    steps = train(model, batches, config)
    for _ in range(3):
        next(steps)
    with torch.no_grad():
        next(model.parameters()).fill_(math.inf)
    before = [parameter.clone() for parameter in model.parameters()]
    with pytest.raises(RunError, match=r"the loss became nan at step 4; .* smaller learning_rate_factor \(now 0.5\)"):
        next(steps)
    for parameter, former in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, former)
