"""Activation functions of the feed-forward network."""

from collections.abc import Callable, Mapping
from functools import partial

from torch import Tensor
from torch.nn import functional as F

from transformer_core.config import Activation

ACTIVATIONS: Mapping[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,  # x Phi(x), Phi that of the standard normal distribution (Hendrycks and Gimpel 2016, sec. 2)
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # the approximation there
    "silu": F.silu,  # x * sigmoid(x)
}
