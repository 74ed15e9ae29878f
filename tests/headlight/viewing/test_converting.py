"""A model of transformers in memory becomes one of ours, with its tokenizer."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


class Adapter(torch.nn.Module):
    """A model with an adapter, with the methods of PEFT's class."""

    def __init__(self, model: Any, **options: Any) -> None:
        super().__init__()
        self.model, self.peft_config = model, {"default": SimpleNamespace(**options)}

    def get_base_model(self) -> Any:
        return self.model

    def merge_and_unload(self) -> Any:
        self.model.get_input_embeddings().weight.data *= 2
        return self.model


def test_an_adapter_in_memory_is_merged_into_a_copy_or_shown(tmp_path: Path) -> None:
    theirs, _ = save_small_bert(tmp_path / "bert")
    embedding = theirs.get_input_embeddings().weight.detach().clone()
    ours, _ = hl.from_transformers(Adapter(theirs))
    assert torch.equal(ours.get_parameter("encoder.embed.weight"), 2 * embedding)
    assert torch.equal(theirs.get_input_embeddings().weight, embedding)
    inputs = {"input_ids": torch.arange(5)}
    shown, expected = (hl.read_transformers(model, None, inputs).attentions for model in (Adapter(theirs), theirs))
    np.testing.assert_array_equal(shown["encoder"].patterns, expected["encoder"].patterns)
    with pytest.raises(CheckpointError, match=r"adapter cannot be merged .*\(layer_replication\); hl.show"):
        hl.from_transformers(Adapter(theirs, layer_replication=[[0, 2], [1, 3]]))


def test_other_models_are_refused_with_a_way_to_see_their_patterns() -> None:
    with pytest.raises(CheckpointError, match=r"not supported.*hl\.show\(model, tokenizer, text\) shows"):
        hl.from_transformers(small("XLNet", {"vocab_size": 40, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 8}))
    with pytest.raises(ArgumentError, match="Linear is not a model of the transformers library"):
        hl.from_transformers(torch.nn.Linear(2, 2))
