"""From its inputs, NumPy alone computes what the attention of each kind of model computes."""

import numpy as np
import pytest

from headlight.analysis.walkthrough.attention_inputs import AttentionInputs, attention_inputs
from headlight.analysis.walkthrough.walkthrough import walk
from tests.headlight.analysis.walkthrough.small_walks import each_place, inputs_of, model_of, walked
from transformer_core.errors import SiteError


def by_numpy(inputs: AttentionInputs) -> np.ndarray:
    """Multi-head attention, head by head, as the paper writes it."""
    memory = inputs.x if inputs.memory is None else inputs.memory
    rotate = inputs.rotate or (lambda x: x)
    heads = []
    for i in range(inputs.n_heads):
        q = rotate(inputs.x @ inputs.W_Q[i] + inputs.b_Q[i])
        k = rotate(memory @ inputs.W_K[i] + inputs.b_K[i])
        scores = q @ k.T / np.sqrt(inputs.d_head) + (0 if inputs.bias is None else inputs.bias[i])
        weights = np.exp(scores) * inputs.mask
        heads.append(weights / weights.sum(axis=1, keepdims=True) @ (memory @ inputs.W_V[i] + inputs.b_V[i]))
    return np.concatenate(heads, axis=1) @ inputs.W_O + inputs.b_O


@each_place
def test_the_papers_formula_gives_the_models_output(kind: str, attention: str, layer: int):
    walk_through = walked(kind, attention, layer)
    config = walk_through.outline.config
    if config.qk_norm or not config.scale_scores or not walk_through.recomputed["mask"].any(axis=1).all():
        with pytest.raises(SiteError):
            attention_inputs(walk_through)
        return
    actual = by_numpy(attention_inputs(walk_through))
    np.testing.assert_allclose(actual, walk_through.recomputed["attn_out"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ("q/k norm with bias", "normalizes queries and keys"),
        ("not scaled", "does not divide its scores by √d_k"),
        ("decoder that starts with padding", "choose a model"),
    ],
)
def test_what_the_paper_does_not_have_is_said(changed: str, sentence: str):
    model = model_of(changed)
    name = "decoder" if model.config.has_decoder else "encoder"
    walk_through = walk(model, inputs_of(changed), attention=name, layer=0, head=0)
    with pytest.raises(SiteError, match=sentence):
        attention_inputs(walk_through)
