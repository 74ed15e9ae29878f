"""Dropout of an activation, against torch's own module in training."""

import numpy as np
import torch

from headlight.analysis.trace.dropout import drop, seed_at


def test_an_activation_after_dropout_is_what_the_module_makes_of_it_in_training():
    values = np.random.default_rng(0).normal(size=(7, 16)).astype(np.float32)
    with torch.random.fork_rng():
        torch.manual_seed(seed_at("encoder.blocks.0.hook_mlp_out", 3))
        expected = torch.nn.Dropout(0.25)(torch.from_numpy(values)).numpy()
    after = drop(values, site="encoder.blocks.0.hook_mlp_out", rate=0.25, seed=3)
    np.testing.assert_allclose(after, expected, rtol=1e-6)
    assert 0 < (after == 0).sum() < values.size and after.dtype == values.dtype
    for other in ({"seed": 4}, {"site": "decoder.blocks.0.hook_mlp_out"}):
        place = {"site": "encoder.blocks.0.hook_mlp_out", "seed": 3} | other
        assert (drop(values, rate=0.25, **place) != after).any()
