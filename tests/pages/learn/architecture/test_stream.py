"""The residual stream: the lengths of its vectors against a plain forward, as drawn and taken away."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.architecture import stream
from tests.pages.learn.architecture.conftest import Look
from tests.pages.learn.bare import Bare

OF = "architecture-stream-{}".format
TEXT = "The cat sleeps."


def test_each_stack_has_its_own_places_tokens_and_lengths(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, target="Le chat")
    stream.show(data)
    source, target = data.model_run.inputs
    model, _ = tc.load("checkpoints/en-fr")
    with torch.inference_mode(), tc.capture(model, "*.hook_resid_pre", "*.hook_mlp_out") as activations:
        model(torch.tensor([source]), torch.tensor([target]))
    assert [*bare.figures] == [OF("encoder"), OF("decoder")]
    for stack, ids, labels in (("encoder", source, data.model_run.source), ("decoder", target, data.model_run.target)):
        drawn = bare.figures[OF(stack)]
        assert drawn.title == f"Residual stream: {stack}"
        ends = ["self-attention", *(["cross-attention"] if stack == "decoder" else []), "feed-forward"]
        places = ["embedding", *(f"{layer} {end}" for layer in range(2) for end in ends)]
        assert drawn.arrays["places"].tolist() == places
        assert drawn.arrays["sums"].shape == drawn.arrays["read"].shape == (len(places), len(ids))
        assert drawn.arrays["added"].shape == (len(places) - 1, len(ids))
        first = activations[f"{stack}.blocks.0.hook_resid_pre"][0].norm(dim=-1)
        np.testing.assert_allclose(drawn.arrays["sums"][0], first, rtol=1e-4)
        added = activations[f"{stack}.blocks.1.hook_mlp_out"][0].norm(dim=-1)
        np.testing.assert_allclose(drawn.arrays["added"][-1], added, rtol=1e-4)
        assert drawn.rows[0] == "place,position,length"
        last = drawn.rows[-1]
        assert last.startswith(f"{places[-1]},") and f"{len(ids) - 1} {labels[-1]}" in last
        assert float(last.rsplit(",", 1)[1]) == pytest.approx(float(drawn.arrays["sums"][-1, -1]), rel=1e-5)
    assert "with post-norm, each sum is normalized" in bare.words
    lines = stream.code(data)
    assert "captured.streams()" in lines and "stream.shares" in lines


def test_the_sums_of_pre_norm_are_what_is_read(bare: Bare, look: Look):
    data = look("fill-in", text=TEXT)
    stream.show(data)
    drawn = bare.figures[OF("encoder")]
    assert drawn.title == "Residual stream"
    np.testing.assert_array_equal(drawn.arrays["sums"], drawn.arrays["read"])
    assert "with pre-norm, the norm of the residual stream grows" in bare.words
    bare.clear()
    stream.show(look("en-fr", text=TEXT))
    post = bare.figures[OF("encoder")]
    assert not np.allclose(post.arrays["sums"], post.arrays["read"])
    n_curves = [len(figure.figure.data) for figure in (drawn, post)]
    assert n_curves[0] != n_curves[1], "what is read is drawn where it is not the sum"
