"""What is no argument of a public function is refused in one sentence, whichever function it is given to."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.model.building import DECODER, shaken_model, small_config
from transformer_core.decoding.steps import check_writes, room_for
from transformer_core.errors import HeadlightError
from transformer_core.instrument.substitutes import captured

FOREIGN: tuple[Any, ...] = (object(), torch.zeros(2, 3, 4), torch.tensor(1.5), np.zeros((2, 2)), [object()], 2.5j)
TOKENIZER = tc.train_tokenizer(["a b"], kind="word")
MODEL = shaken_model(small_config(**DECODER))
Z = "decoder.blocks.0.self_attn.hook_z"


def intervened(function: Any) -> None:
    with tc.intervene(MODEL, {Z: function}):
        pass


CALLS: dict[str, Callable[[Any], object]] = {
    "load": tc.load,
    "read_card": tc.read_card,
    "save a model": lambda given: tc.save("nowhere", given, TOKENIZER),
    "save a tokenizer": lambda given: tc.save("nowhere", MODEL, given),
    "save to": lambda given: tc.save(given, MODEL, TOKENIZER),
    "build": tc.build,
    "seed": lambda given: tc.build(MODEL.config, seed=given),
    "config": lambda given: tc.ModelConfig.from_dict(given),
    "write": check_writes,
    "max_new_tokens": lambda given: room_for(MODEL.config, 1, given),
    "temperature": lambda given: tc.Sampling(temperature=given),
    "top_k": lambda given: tc.Sampling(top_k=given),
    "capture in": lambda given: tc.capture(given).__enter__(),
    "capture at": lambda given: tc.capture(MODEL, given).__enter__(),
    "intervene": lambda given: tc.intervene(MODEL, given).__enter__(),
    "intervention": intervened,
    "site_names": tc.site_names,
    "site": lambda given: tc.site(given, layer=0),
    "layer": lambda given: tc.site("z", layer=given),
    "attention": lambda given: tc.sites("z", attention=given),
    "weights": lambda given: tc.weights(given, 0, 0, "decoder"),
    "head": lambda given: tc.weights(MODEL, 0, given, "decoder"),
    "heads": tc.zero_heads,
    "cells": lambda given: tc.zero(cells=given),
    "set_cells": tc.set_cells,
    "knock_out": tc.knock_out,
    "acts": lambda given: captured(given, tc.Site(name=Z)),
    "texts": lambda given: tc.train_tokenizer(given, kind="word"),
    "kind": lambda given: tc.train_tokenizer(["a"], kind=given),
    "encode": TOKENIZER.encode,
    "encode_for": lambda given: TOKENIZER.encode_for(given, "decoder_only"),
    "decode": TOKENIZER.decode,
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_argument_is_refused_in_a_sentence(name: str):
    for given in FOREIGN:
        with pytest.raises(HeadlightError):
            CALLS[name](given)


def test_one_text_is_not_a_list_of_texts():
    with pytest.raises(HeadlightError, match="texts must be a list of texts; got str"):
        tc.train_tokenizer("a b", kind="character")


def test_a_number_of_numpy_or_torch_is_a_number():
    assert room_for(MODEL.config, 1, np.int64(3)) == 3 == room_for(MODEL.config, 1, torch.tensor(3))
    assert tc.Sampling(temperature=np.float32(0.5), top_k=np.int64(2)).top_k == 2
    value, site = torch.ones(1, 2, 3, 4), tc.Site(name=Z)
    assert tc.scale(torch.tensor(0.5))(value, site).mean() == tc.replace(np.float32(0.5))(value, site).mean() == 0.5
