"""How much one head reads of what another writes, from the weights alone."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.instrument.head_weights import HeadWeights, weights
from transformer_core.model.transformer import Transformer

Scores = Float[np.ndarray, "layer head layer head"]


class CompositionScores(NamedTuple):
    """For every two heads: layer and head of the writer, then layer and head of the reader.

    Each score is in [0, 1]: 0 where the reader reads nothing of what the writer writes, and where one of the two has no
    weights; NaN where the writer is not in an earlier layer. Two random heads are far above 0; compare heads of one
    model.
    """

    q: Scores  # ||W_OV W_QK|| / (||W_OV|| ||W_QK||): through the reader's queries
    k: Scores  # ||W_OV W_QK^T|| / (||W_OV|| ||W_QK||): through its keys
    v: Scores  # ||W_OV W'_OV|| / (||W_OV|| ||W'_OV||): through its values


@torch.no_grad()
def composition_scores(model: Transformer, attention: str) -> CompositionScores:
    """Return the composition scores of the self-attention heads of a stack, with Frobenius norms.

    W_OV is the writer's W_V W_O, and W_QK = W_Q W_K^T and W'_OV are the reader's, for row vectors x W. The gains of
    norms, biases, and positions that act inside attention are not in them.

    Args:
        model: with that stack.
        attention: "encoder" or "decoder".

    Raises:
        SiteError: the model has no such stack.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", "Two Layer Attention-Only
        Transformers".
    """
    config = model.config
    n_layers = config.n_encoder_layers if attention == "encoder" else config.n_decoder_layers
    heads = [
        [_double(weights(model, layer, head, attention)) for head in range(config.n_heads)]
        for layer in range(max(1, n_layers))  # of a stack that is not there, the first layer raises
    ]
    scores = np.full((3, n_layers, config.n_heads, n_layers, config.n_heads), np.nan)
    for i, writers in enumerate(heads):
        for j, readers in enumerate(heads[i + 1 :], start=i + 1):
            for a, writer in enumerate(writers):
                for b, reader in enumerate(readers):
                    scores[:, i, a, j, b] = [
                        _score(writer.w_v, writer.w_o, left, right)
                        for left, right in (
                            (reader.w_q, reader.w_k.T),
                            (reader.w_k, reader.w_q.T),
                            (reader.w_v, reader.w_o),
                        )
                    ]
    return CompositionScores(*scores)


def _double(head: HeadWeights) -> HeadWeights:
    """Return the matrices in float64."""
    return HeadWeights(w_q=head.w_q.double(), w_k=head.w_k.double(), w_v=head.w_v.double(), w_o=head.w_o.double())


def _score(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> float:
    """Return ||A B C D|| / (||A B|| ||C D||), where B C is the smallest product; 0 where a norm is 0."""
    written, read = _norm(a, b), _norm(c, d)
    return _norm(a @ (b @ c), d) / (written * read) if written > 0 and read > 0 else 0.0


def _norm(a: Float[Tensor, "d_model d_head"], b: Float[Tensor, "d_head d_model"]) -> float:
    """Return the Frobenius norm of A B from the two d_head x d_head Gram matrices: tr(A^T A B B^T)^(1/2)."""
    return float(((a.T @ a) * (b @ b.T)).sum().clamp(min=0).sqrt())
