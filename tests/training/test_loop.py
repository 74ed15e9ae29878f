"""The loop: its records, equal losses when repeated or resumed; its gradients against autograd, however computed."""

import math
import os
import shutil
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from transformer_core.config import ModelConfig
from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.corpora.batching import PairBatches
from transformer_core.errors import RunError, TextError
from transformer_core.model.transformer import Transformer, build
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import Gradients, clip_gradients, train
from transformer_core.training.optimizer import Adam
from transformer_core.training.processes import ALONE


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


ROOT = Path(__file__).resolve().parents[2]
SIZES: dict[str, Any] = {"vocab_size": 11, "d_model": 8, "d_ff": 16, "n_heads": 2, "max_seq_len": 8, "dropout": 0.0}


def a_masked_batch(n_targets_in_rows: list[int], vocab_size: int) -> Batch:
    """Rows of six tokens in each of which some are to be guessed, or none."""
    random = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, vocab_size, (len(n_targets_in_rows), 6), generator=random)
    counts = torch.arange(6) < torch.tensor(n_targets_in_rows)[:, None]
    return Batch((tokens,), torch.where(counts, tokens, IGNORED))


@pytest.mark.parametrize("rows", [[6, 1, 0, 3, 1], [0, 0, 0, 0, 4], [3, 0, 0, 0, 1, 2, 0]])
def test_a_batch_computed_in_parts_gives_the_same_losses_and_gradients(rows: list[int]):
    """The oracle is autograd on the mean over all targets at once, by torch itself."""
    model = build(
        ModelConfig(architecture="encoder_only", tie_embeddings="none", n_encoder_layers=1, n_decoder_layers=0, **SIZES)
    )
    batch = a_masked_batch(rows, 11)
    logits = model(*batch.inputs).flatten(0, 1)
    loss = F.cross_entropy(logits, batch.targets.flatten(), ignore_index=IGNORED, label_smoothing=0.1)
    expected = torch.autograd.grad(loss, list(model.parameters()))

    config = TrainingConfig(steps=1, batch_size=len(rows), warmup_steps=1)
    for accumulate in (1, 2, 5):
        gradients = Gradients(model, replace(config, accumulate=accumulate), ALONE)
        assert gradients.compute(batch)[0] == pytest.approx(loss.item(), rel=1e-5)
        for parameter, gradient in zip(model.parameters(), expected, strict=True):
            assert parameter.grad is not None
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)


def test_a_batch_of_which_nothing_is_to_be_learnt(model: Transformer, config: TrainingConfig):
    nothing = Batch((torch.zeros(2, 6, dtype=torch.int64),) * 2, torch.full((2, 6), IGNORED))
    for accumulate in (1, 2):
        with pytest.raises(TextError, match=r"^this batch has no targets"):
            Gradients(model, replace(config, accumulate=accumulate), ALONE).compute(nothing)


def test_gradients_are_clipped_as_torch_clips_them():
    for longest in (0.5, 5.0, None):
        ours, theirs = ([nn.Parameter(torch.zeros(shape)) for shape in ((3, 4), (5,), (2,))] for _ in range(2))
        for number, (one, other) in enumerate(zip(ours[:2], theirs[:2], strict=True)):  # the last one has no gradient
            one.grad = torch.randn(one.shape, generator=torch.Generator().manual_seed(number))
            other.grad = one.grad.clone()
        norm = torch.nn.utils.clip_grad_norm_(theirs, math.inf if longest is None else longest)
        assert clip_gradients(ours, longest) == pytest.approx(norm.item(), rel=1e-6)
        for one, other in zip(ours[:2], theirs[:2], strict=True):
            torch.testing.assert_close(one.grad, other.grad)


COMPILED = """
import sys
from dataclasses import replace
from itertools import repeat
import torch
from transformer_core.config import ModelConfig
from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.model.transformer import build
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import train

tokens = torch.randint(3, 11, (4, 7), generator=torch.Generator().manual_seed(0))
tokens[0, 5:] = 0  # padding, on the right
targets = tokens[:, 1:].clone()
batch = Batch((tokens[:, :-1].contiguous(),), targets.masked_fill(targets == 0, IGNORED))
shape = ModelConfig(
    architecture="decoder_only", tie_embeddings="none", vocab_size=11, d_model=8, d_ff=16, n_heads=2,
    n_encoder_layers=0, n_decoder_layers=1, max_seq_len=8, dropout=0.0, activation="gelu",
)
config = TrainingConfig(steps=6, batch_size=4, warmup_steps=2, label_smoothing=0.2, rate_changes=((4, 0.5),))
plain = {"precision": sys.argv[1]}
for changes in ({}, plain, plain | {"compile": True, "accumulate": 2}):
    print(*(record.loss for record in train(build(shape), repeat(batch), replace(config, **changes))))
"""


@pytest.mark.full
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler on the CPU, and finds none")
def test_compiled_it_is_the_same_training(tmp_path: Path, precision: str):
    """In two parts a step; in a separate process, without the checks of types, which no compiler understands."""
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", COMPILED, precision]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=True)
    full, plain, compiled = ([float(loss) for loss in line.split()] for line in done.stdout.splitlines())
    assert len(plain) == 6
    assert compiled == pytest.approx(plain, rel=1e-4 if precision == "fp32" else 0.02)
    if precision == "bf16":  # it is not left at full precision
        assert compiled != pytest.approx(full, rel=1e-4)
