"""The gradients of a batch: against autograd on the loss written out, however it is divided; compiled; and clipped."""

import math
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from transformer_core.config import ModelConfig
from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.errors import TextError
from transformer_core.model.transformer import Transformer, build
from transformer_core.training.config import TrainingConfig
from transformer_core.training.gradients import Gradients, clip_gradients
from transformer_core.training.processes import ALONE

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
        assert gradients.compute(batch).loss == pytest.approx(loss.item(), rel=1e-5)
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
