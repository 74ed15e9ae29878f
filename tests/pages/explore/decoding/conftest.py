"""The core's own tree of a text with two blanks."""

from pathlib import Path

import pytest
import torch

import transformer_core as tc
from tests.pages.explore.decoding.blanks_parts import TEXT
from transformer_core.decoding.filling import FillingTree


@pytest.fixture(scope="module")
def tree(three_kinds: Path) -> FillingTree:
    model, tokenizer = tc.load(three_kinds / "gaps")
    return FillingTree(model, torch.tensor([tokenizer.encode_for(TEXT, "encoder_only")]), mask_id=tokenizer.mask_id)
