"""Torch's own attention is asked with the model's weights, or it is said why not."""

import numpy as np
import pytest

from headlight.analysis.walkthrough.against_torch import FUNCTION, MODULE
from headlight.analysis.walkthrough.walkthrough import walk
from tests.headlight.analysis.walkthrough.small_walks import model_of, walked


@pytest.mark.parametrize(
    ("kind", "attention", "because"),
    [
        ("the paper's", "cross", None),
        ("not scaled", "decoder", None),
        ("alibi", "encoder", None),
        ("decoder, buckets", "decoder", None),
        ("rotary, groups", "cross", None),
        ("rotary, groups", "decoder", "rotary"),
        ("decoder, rotary", "decoder", "rotary"),
        ("encoder, buckets, groups", "encoder", "norm"),
        ("q/k norm with bias", "cross", "norm"),
        ("buckets", "encoder", "width"),
    ],
)
def test_which_function_is_asked(kind: str, attention: str, because: str | None):
    there = walked(kind, attention, 1)
    proof, seen = there.proof(), there._torch
    assert proof.torch_function == (MODULE if because is None else FUNCTION)
    assert proof.torch_reason == because
    assert set(seen.values) == ({"pattern", "z", "concat", "attn_out"} if because is None else {"pattern", "z"})
    sees_something = there.quantities["mask"].values.any(axis=1)
    for name, values in seen.values.items():
        assert (np.isfinite(values).all(axis=1) == sees_something).all()
        assert np.allclose(values[sees_something], there.quantities[name].values[sees_something], atol=2e-5)
        assert there.number(name, 1, 0).mha == float(values[1, 0])
    assert there.number("q", 1, 0).mha is None


def test_a_query_that_may_look_at_nothing_has_no_number_of_torch():
    there = walk(model_of("the paper's"), ((0, 0, 0), (1, 5)), attention="cross", layer=1, head=0)
    assert not there.quantities["pattern"].values.any()
    assert there.number("z", 0, 0).mha is None
    assert there.number("pattern", 0, 0).formula == "0"
    assert there.proof().holds
