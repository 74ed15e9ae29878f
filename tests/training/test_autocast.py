"""Under bfloat16, every kind of model has the loss and gradients of float32, with hooks or without."""

from typing import Any

import pytest
import torch
from torch import Tensor

from transformer_core.config import ModelConfig
from transformer_core.corpora.batch_order import IGNORED
from transformer_core.instrument.capture import capture
from transformer_core.model.transformer import Transformer, build
from transformer_core.training.objective import TrainingLoss

TOKENS = torch.tensor([[1, 5, 6, 7, 8], [1, 5, 0, 0, 0]])  # the second is short, and padded
TARGETS = torch.tensor([[5, 6, 7, 8, 2], [5, 2, IGNORED, IGNORED, IGNORED]])
CLOSE = 0.05  # bfloat16 has eight bits: a relative error of 0.4 % for each of some ten roundings


def small_model(**changes: Any) -> Transformer:
    sizes: dict[str, Any] = {"vocab_size": 20, "d_model": 16, "d_ff": 32, "n_heads": 2, "max_seq_len": 32}
    layers: dict[str, Any] = {"architecture": "decoder_only", "n_encoder_layers": 0, "n_decoder_layers": 2}
    shape: dict[str, Any] = {"tie_embeddings": "target", "norm_position": "pre", "dropout": 0.0}
    return build(ModelConfig(**sizes, **layers, **shape, **changes), seed=3).train()


def loss_and_gradients(model: Transformer, *, bfloat16: bool, is_watched: bool = False) -> tuple[Tensor, list[Tensor]]:
    model.zero_grad()
    loss_of = TrainingLoss(model, smoothing=0.1)
    with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
        if is_watched:
            with capture(model, "*"):
                loss = loss_of((TOKENS,), TARGETS)
        else:
            loss = loss_of((TOKENS,), TARGETS)
    loss.backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    assert all(gradient is not None for gradient in gradients)
    return loss.detach(), [gradient.clone() for gradient in gradients if gradient is not None]


@pytest.mark.parametrize(
    ("positions", "qk_norm", "norm", "window", "is_watched"),
    [  # each value once at least
        ("alibi", False, "layer", None, True),
        ("alibi", True, "rms", 2, False),
        ("relative_buckets", False, "rms", None, False),
        ("rotary_halves", False, "rms", 2, True),
        ("rotary_halves", True, "layer", None, False),
        ("rotary_halves", "joint", "rms", None, False),
    ],
)
def test_it_is_float32_but_for_rounding(
    positions: str, qk_norm: bool | str, norm: str, window: int | None, is_watched: bool
):
    parts: dict[str, Any] = {"positions": positions, "norm": norm, "sliding_window": window, "qk_norm": bool(qk_norm)}
    if qk_norm == "joint":
        parts |= {"qk_norm_scope": "joint", "output_norm": True, "score_cap": 5.0}
        parts |= {"activation": "squared_relu", "logit_cap": 5.0, "last_norm": False}
    model = small_model(**parts)
    expected, true = loss_and_gradients(model, bfloat16=False)
    loss, gradients = loss_and_gradients(model, bfloat16=True, is_watched=is_watched)
    torch.testing.assert_close(loss, expected, rtol=CLOSE, atol=0)
    actual, right = (torch.cat([gradient.flatten() for gradient in one]) for one in (gradients, true))
    assert (actual - right).norm() < CLOSE * right.norm()
