"""Errors planted into the oracle of encoder-decoders are found at 64 tokens, at the first site that they reach."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import headlight as hl
import transformer_core as tc
from tests.checkpoints.paper_models import Norm, PaperModel
from tests.checkpoints.test_paper_names import CASES, padded, saved


def without_padding_mask(theirs: PaperModel) -> None:
    theirs.pad = -1


def positions_of_another_base(theirs: PaperModel) -> None:
    angle = torch.arange(90.0)[:, None] * 9000.0 ** (-torch.arange(0, 24, 2) / 24)
    theirs.table = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def positions_in_halves(theirs: PaperModel) -> None:
    theirs.table = torch.cat([theirs.table[:, ::2], theirs.table[:, 1::2]], 1)


def another_deviation(theirs: PaperModel) -> None:
    for module in theirs.modules():
        if isinstance(module, Norm):
            module.is_sample = not module.is_sample


def norms_elsewhere(theirs: PaperModel) -> None:
    theirs.layout = replace(theirs.layout, is_pre_norm=not theirs.layout.is_pre_norm)


def other_heads(theirs: PaperModel) -> None:
    theirs.n_heads = 6


FIRST = "encoder.blocks.0."
PLANTED: dict[Callable[[PaperModel], None], str] = {
    without_padding_mask: f"{FIRST}self_attn.hook_pattern",
    positions_of_another_base: f"{FIRST}hook_resid_pre",
    positions_in_halves: f"{FIRST}hook_resid_pre",
    another_deviation: f"{FIRST}ln1.hook_normalized",
    norms_elsewhere: f"{FIRST}hook_resid_pre",
    other_heads: f"{FIRST}self_attn.hook_z",
}


def test_planted_errors_are_found_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    name = "annotated"
    torch.manual_seed(0)
    _, (n_src, n_tgt), pad, _ = CASES[name]
    theirs = saved(name, tmp_path / "model.pt")
    ours, _ = tc.load(tmp_path / "model.pt", options={"n_heads": 3})
    tokens = padded(80, n_src, pad), padded(64, n_tgt, pad)
    assert hl.compare_models(ours, theirs, *tokens).first is None
    for plant, site in PLANTED.items():
        faulty = saved(name, tmp_path / "again.pt")
        faulty.load_state_dict(theirs.state_dict())
        plant(faulty)
        first = hl.compare_models(ours, faulty, *tokens).first
        assert first is not None and first.site == site, plant
    monkeypatch.setattr(torch.Tensor, "tril", lambda mask: mask)
    first = hl.compare_models(ours, theirs, *tokens).first
    assert first is not None and first.site == "decoder.blocks.0.self_attn.hook_pattern"
