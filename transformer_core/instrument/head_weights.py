"""The weight matrices of one head, in the notation of the paper."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.arguments import check_whole
from transformer_core.errors import SiteError
from transformer_core.instrument.sites import site
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.transformer import Transformer, check_model


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadWeights:
    """The four matrices of one head, for row vectors: x W; biases, norms and rotations are not included.

    Source: Vaswani et al. 2017, sec. 3.2.2; for the two products Elhage et al. 2021, "A Mathematical Framework for
    Transformer Circuits".
    """

    w_q: Float[Tensor, "d_model d_head"]
    w_k: Float[Tensor, "d_model d_head"]  # shared by the heads of a group, like w_v
    w_v: Float[Tensor, "d_model d_head"]
    w_o: Float[Tensor, "d_head d_model"]

    @property
    def qk(self) -> Float[Tensor, "d_model d_model"]:
        """W_Q W_K^T: the score of query vectors (rows) and key vectors (columns), not divided by sqrt(d_head)."""
        return self.w_q @ self.w_k.T

    @property
    def ov(self) -> Float[Tensor, "d_model d_model"]:
        """W_V W_O: from an attended vector (rows) to the head's output in the residual stream (columns)."""
        return self.w_v @ self.w_o


def weights(model: Transformer, layer: int, head: int, attention: str) -> HeadWeights:
    """Return W_Q, W_K, W_V and W_O of a head, including parametrizations and adapters.

    >>> weights(model, layer=0, head=1, attention="cross").ov.shape
    torch.Size([128, 128])

    Args:
        model: with that attention.
        layer: from 0.
        head: from 0.
        attention: "encoder" or "decoder", the self-attention of that stack; or "cross".

    Raises:
        SiteError: the model has no such attention, layer or head.
    """
    check_model(model)
    check_whole("head", head)
    path = site("z", layer=layer, attention=attention).removesuffix(".hook_z")
    module = dict(model.named_modules()).get(path)
    if not isinstance(module, MultiHeadAttention) or not 0 <= head < module.n_heads:
        raise SiteError(
            "the model has no head {head} at {path}; layers and heads are counted from 0", head=head, path=path
        )
    d_head, d_model = module.d_head, model.config.d_model
    of_head = slice(head * d_head, (head + 1) * d_head)
    group = head // (module.n_heads // module.n_kv_heads)
    of_group = slice(group * d_head, (group + 1) * d_head)
    return HeadWeights(
        w_q=_matrix(module.q, d_model)[:, of_head],
        w_k=_matrix(module.k, d_model)[:, of_group],
        w_v=_matrix(module.v, d_model)[:, of_group],
        w_o=_matrix(module.out, module.n_heads * d_head)[of_head],
    )


def _matrix(linear: nn.Module, width: int) -> Float[Tensor, "width out"]:
    """Return the matrix W of a module that computes x W + b."""
    like = next(linear.parameters())
    inputs = torch.eye(width, dtype=like.dtype, device=like.device)
    moved: Tensor = linear(inputs) - linear(torch.zeros_like(inputs[:1]))
    return moved
