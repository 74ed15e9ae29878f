"""Inputs that a model does not accept: one sentence that says what is expected."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.model.building import ENCODER, shaken_model, small_config
from transformer_core.errors import TextError
from transformer_core.model.embeddings import check_tokens

T = torch.tensor
NO_TOKENS: dict[str, Any] = {
    **{"list": [[3, 4]], "text": "abc", "nothing": None, "array": T([[3, 4]]).numpy()},
    **{"one axis": T([3, 4]), "three axes": T([[[3, 4]]]), "floats": T([[3.0]]), "switches": T([[True]])},
    "no row": torch.zeros(0, 3, dtype=torch.long),
}
UNKNOWN = {"beyond": T([[3, 99]]), "far below": T([[-99, 3]]), "below": T([[3, -1]])}
PADDED = {"left": T([[0, 3, 4], [3, 4, 5]]), "hole": T([[3, 4, 5], [3, 0, 5]])}
PADDED |= {"left, one row": T([[0, 3, 4]]), "hole, one row": T([[3, 0, 5]])}


@pytest.mark.parametrize("name", NO_TOKENS)
def test_what_has_not_the_form_of_tokens_is_refused_with_the_form_that_is_wanted(name: str):
    with pytest.raises(TextError, match=r"\[batch, pos\].*; got"):
        check_tokens(NO_TOKENS[name])
    check_tokens(T([[3, 4]]))
    check_tokens(T([[3]], dtype=torch.int32))


@pytest.mark.parametrize("name", [*UNKNOWN, *PADDED])
def test_what_the_model_cannot_read_is_refused_everywhere(name: str):
    given = (UNKNOWN | PADDED)[name]
    words = "row [01] has padding before a token" if name in PADDED else r"id (99|-99|-1) is not.*0 to"
    model, encoder = shaken_model(small_config()), shaken_model(small_config(**ENCODER))
    other = T([[3, 4, 5]] * len(given))
    ways: list[Callable[[], object]] = [
        lambda: model(given, other),
        lambda: model(other, given),
        lambda: encoder(given),
        lambda: tc.greedy_decode(model, given, max_new_tokens=2),
        lambda: tc.beam_search(model, given, max_new_tokens=2),
    ]
    if name in UNKNOWN:  # a session takes one row
        ways.append(lambda: tc.DecodingSession(model, given))
    for run in ways:
        with pytest.raises(TextError, match=words):
            run()
