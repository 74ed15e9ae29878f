"""The position-wise feed-forward network, and its activation functions."""

from collections.abc import Callable, Mapping
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_core.config import Activation, ModelConfig
from transformer_core.hooks import HookPoint
from transformer_core.model.norms import build_norm

ACTIVATIONS: Mapping[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,  # x Phi(x), with Phi the standard normal CDF (Hendrycks and Gimpel 2016, sec. 2)
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # the tanh approximation of that paper
    "silu": F.silu,  # x * sigmoid(x)
    "squared_relu": lambda x: F.relu(x).square(),  # max(0, x)^2 (So et al. 2021, sec. 4)
}


class FeedForward(nn.Module):
    """FFN(x) = activation(x W_1 + b_1) W_2 + b_2, at each position; the paper's activation is max(0, .).

    Gated: FFN(x) = (activation(x W_gate) * (x W_1)) W_2.

    Source: Vaswani et al. 2017, sec. 3.3, eq. (2); Shazeer 2020, eq. (6), for the gate.
    """

    def __init__(self, config: ModelConfig) -> None:
        """Build the projections, d_model -> d_ff -> d_model."""
        super().__init__()
        self.up = nn.Linear(config.d_model, config.d_ff, bias=config.feed_forward_bias)
        if config.gated:
            self.gate = nn.Linear(config.d_model, config.d_ff, bias=config.feed_forward_bias)
            self.hook_pre_linear = HookPoint()
        self.down = nn.Linear(config.d_ff, config.d_model, bias=config.feed_forward_bias)
        self.is_gated = config.gated
        self.activation = ACTIVATIONS[config.activation]
        self.out_norm = build_norm(config, config.d_model) if config.output_norm else None
        self.dropout = nn.Dropout(config.dropout)
        self.hook_pre = HookPoint()
        self.hook_post = HookPoint()

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        """Return the output of this sub-layer, which is added to the residual stream."""
        if self.is_gated:
            pre = self.hook_pre(self.gate(x))  # [batch, pos, d_ff]
            post = self.activation(pre) * self.hook_pre_linear(self.up(x))  # [batch, pos, d_ff]
        else:
            post = self.activation(self.hook_pre(self.up(x)))  # [batch, pos, d_ff]
        out = self.down(self.hook_post(post))  # [batch, pos, d_model]
        return self.dropout(out if self.out_norm is None else self.out_norm(out))
