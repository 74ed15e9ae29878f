"""A model of transformers in memory becomes one of ours, with its tokenizer."""

from pathlib import Path

import numpy as np
import pytest
import torch

import headlight as hl
from tests.headlight.viewing.test_reading import small
from tests.small_bert import save_small_bert
from transformer_core.checkpoints.load import tokenizer_of
from transformer_core.errors import ArgumentError, CheckpointError


def test_a_supported_family_is_ours_and_has_the_patterns_that_transformers_computes(tmp_path: Path) -> None:
    theirs, tokenizer = save_small_bert(tmp_path / "bert")
    model, own = hl.from_transformers(theirs, tokenizer)
    assert tokenizer_of(model) is own
    text = "the cat sat on a [MASK] ."
    run, record = hl.run_text(model, own, text), hl.read_transformers(theirs, tokenizer, text)
    assert run.source == tuple(record.attentions["encoder"].queries)
    np.testing.assert_allclose(run.patterns["encoder"], record.attentions["encoder"].patterns, atol=1e-5)
    assert hl.from_transformers(theirs)[1].kind == "ids"


def test_other_models_are_refused_with_a_way_to_see_their_patterns() -> None:
    with pytest.raises(CheckpointError, match=r"not supported.*hl\.show\(model, tokenizer, text\) shows"):
        hl.from_transformers(small("XLNet", {"vocab_size": 40, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 8}))
    with pytest.raises(ArgumentError, match="Linear is not a model of the transformers library"):
        hl.from_transformers(torch.nn.Linear(2, 2))
