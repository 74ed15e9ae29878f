"""What is no argument of a public function is refused in one sentence, whichever function it is given to."""

from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.model.building import DECODER, shaken_model, small_config
from transformer_core.decoding.steps import check_writes, room_for
from transformer_core.errors import HeadlightError
from transformer_core.instrument.selection import captured

FOREIGN: tuple[Any, ...] = (object(), torch.zeros(2, 3, 4), torch.tensor(1.5), np.zeros((2, 2)), [object()], 2.5j)
WORDS, MODEL = tc.train_tokenizer(["a b"], kind="word"), shaken_model(small_config(**DECODER))
Z = "decoder.blocks.0.self_attn.hook_z"


def test_what_is_no_argument_is_refused_in_a_sentence():
    plain = (tc.load, tc.read_card, tc.build, check_writes, tc.site_names, tc.zero_heads, tc.set_cells, tc.knock_out)
    calls = (
        *(*plain, WORDS.encode, WORDS.decode, tc.ModelConfig.from_dict),
        *(lambda x: tc.save("no", x, WORDS), lambda x: tc.save("no", MODEL, x), lambda x: tc.save(x, MODEL, WORDS)),
        *(lambda x: tc.build(MODEL.config, seed=x), lambda x: room_for(MODEL.config, 1, x)),
        *(lambda x: tc.Sampling(temperature=x), lambda x: tc.Sampling(top_k=x), lambda x: tc.zero(cells=x)),
        *(lambda x: tc.capture(x).__enter__(), lambda x: tc.capture(MODEL, x).__enter__()),
        *(lambda x: tc.intervene(MODEL, x).__enter__(), lambda x: tc.intervene(MODEL, {Z: x}).__enter__()),
        *(lambda x: tc.site(x, layer=0), lambda x: tc.site("z", layer=x), lambda x: tc.sites("z", attention=x)),
        *(lambda x: tc.weights(x, 0, 0, "decoder"), lambda x: tc.weights(MODEL, 0, x, "decoder")),
        *(lambda x: captured(x, tc.Site(name=Z)), lambda x: WORDS.encode_for(x, "decoder_only")),
        *(lambda x: tc.train_tokenizer(x, kind="word"), lambda x: tc.train_tokenizer(["a"], kind=x)),
    )
    for place, call in enumerate(calls):
        for given in FOREIGN:
            with pytest.raises(HeadlightError):
                call(given)
                pytest.fail(f"call {place} took {given!r}")
    with pytest.raises(HeadlightError, match="texts must be a list of texts; got str"):
        tc.train_tokenizer("a b", kind="character")


def test_a_number_of_numpy_or_torch_is_a_number():
    assert room_for(MODEL.config, 1, np.int64(3)) == 3 == room_for(MODEL.config, 1, torch.tensor(3))
    assert tc.Sampling(temperature=np.float32(0.5), top_k=np.int64(2)).top_k == 2
    value, site = torch.ones(1, 2, 3, 4), tc.Site(name=Z)
    assert tc.scale(torch.tensor(0.5))(value, site).mean() == tc.replace(np.float32(0.5))(value, site).mean() == 0.5
