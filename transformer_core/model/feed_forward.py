"""The position-wise feed-forward network."""

from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.config import ModelConfig
from transformer_core.hooks import HookPoint
from transformer_core.model.dropout import Dropout


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at each position alike.

    Source: Vaswani et al. 2017, sec. 3.3, eq. (2).
    """

    def __init__(self, config: ModelConfig) -> None:
        """Build the two projections, d_model -> d_ff -> d_model."""
        super().__init__()
        self.up = nn.Linear(config.d_model, config.d_ff)
        self.down = nn.Linear(config.d_ff, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.hook_pre = HookPoint()
        self.hook_post = HookPoint()

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        """Return what this sub-layer adds to the residual stream."""
        pre = self.hook_pre(self.up(x))  # [batch, pos, d_ff]
        post = self.hook_post(pre.relu())  # [batch, pos, d_ff]
        return self.dropout(self.down(post))
