"""What a model says of a batch, against a plain forward pass."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.trace.batch_predictions import predict
from transformer_core.corpora.batch_order import IGNORED, Batch


@pytest.mark.parametrize("most_numbers", [1, 2**26], ids=["row by row", "at once"])
def test_probabilities_are_those_of_a_plain_forward_pass(most_numbers: int):
    config = tc.ModelConfig(
        vocab_size=30,
        d_model=16,
        d_ff=16,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=1,
        max_seq_len=8,
        dropout=0.5,
    )
    model = tc.build(config, seed=1).train()
    source = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])
    target = torch.tensor([[1, 9, 10], [1, 11, 0]])
    batch = Batch((source, target), torch.tensor([[9, 10, 2], [11, 2, IGNORED]]))
    text = predict(model, batch, row=0, pos=1, n_top=4, most_numbers=most_numbers)
    assert model.training
    with torch.no_grad():
        logits = model.eval()(source, target).double()
    expected = (logits.exp() / logits.exp().sum(dim=-1, keepdim=True)).numpy()
    assert text.shape == (2, 3, 30)
    np.testing.assert_allclose(text.sums, np.ones((2, 3)), atol=1e-6)
    order = np.argsort(-expected[0, 1])
    assert [i for i, _ in text.top] == order[:4].tolist()
    np.testing.assert_allclose([p for _, p in text.top], expected[0, 1, order[:4]], rtol=1e-5)
    assert text.target == pytest.approx(expected[0, 1, 10], rel=1e-5)
    assert text.rank == 1 + order.tolist().index(10)
    last = predict(model, batch, row=1, pos=1, most_numbers=most_numbers)
    assert last.target == pytest.approx(expected[1, 1, 2], rel=1e-5)
    nothing = predict(model, batch, row=1, pos=2, most_numbers=most_numbers)
    assert nothing.shape == (2, 3, 30) and nothing.target is None and nothing.rank is None
