"""Composition scores against the products of whole matrices, in NumPy."""

from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from headlight.analysis.heads.composition import composition_scores
from tests.model.building import DECODER, shaken_model, small_config


@pytest.mark.parametrize("changes", [{}, {"n_kv_heads": 1}, {"d_head": 5}], ids=["plain", "shared keys", "wide heads"])
def test_scores_are_ratios_of_norms(changes: dict[str, Any]):
    model = shaken_model(small_config(**DECODER, n_decoder_layers=3, **changes))
    scores = composition_scores(model, "decoder")
    norm = np.linalg.norm
    for i in range(3):
        for j in range(3):
            for a in range(2):
                for b in range(2):
                    index = (i, a, j, b)
                    if i >= j:
                        assert np.isnan([scores.q[index], scores.k[index], scores.v[index]]).all()
                        continue
                    written = tc.weights(model, i, a, "decoder").ov.detach().double().numpy()
                    reader = tc.weights(model, j, b, "decoder")
                    qk, ov = reader.qk.detach().double().numpy(), reader.ov.detach().double().numpy()
                    for score, read in ((scores.q, qk), (scores.k, qk.T), (scores.v, ov)):
                        expected = norm(written @ read) / (norm(written) * norm(read))
                        assert score[index] == pytest.approx(expected, rel=1e-5)
                        assert 0 < score[index] < 1


def test_a_head_without_weights_composes_with_nothing():
    model = shaken_model(small_config(**DECODER, n_decoder_layers=2))
    model.get_parameter("decoder.blocks.0.self_attn.out.weight").data[:, :3] = 0  # L0.H0 writes nothing
    model.get_parameter("decoder.blocks.1.self_attn.q.weight").data[3:] = 0  # L1.H1 looks for nothing
    scores = composition_scores(model, "decoder")
    for each in scores:
        assert each[0, 0, 1].tolist() == [0, 0]
    assert scores.q[0, 1, 1, 1] == scores.k[0, 1, 1, 1] == 0 < scores.v[0, 1, 1, 1]
