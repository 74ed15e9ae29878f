"""What a feed-forward network does to each number between its two projections."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor
from torch.compiler import is_compiling
from torch.nn import functional as F

from transformer_core.config import Activation


def gelu(x: Tensor) -> Tensor:
    """Return x Phi(x), Phi the distribution function of the standard normal distribution; any shape.

    Source: Hendrycks and Gimpel 2016, sec. 2.
    """
    if is_compiling() and x.requires_grad and x.dtype == torch.float32:
        return cast(Tensor, _GeluWithSlope.apply(x))
    return F.gelu(x)


class _GeluWithSlope(torch.autograd.Function):
    """The same, whose slope Phi(x) + x Phi'(x) is computed along with it, so that both share one exponential.

    Phi is 1.5e-7 / 2 from the truth at most, one unit in the last place of a float: Abramowitz and Stegun 1964, 7.1.26.
    It is for the compiler, which makes one loop of all this; torch's own kernels take one exponential for the value,
    and two for the gradient.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Return x Phi(x)."""
        z = x.abs() / math.sqrt(2)
        t = 1 / (1 + 0.3275911 * z)
        bell = torch.exp(-z * z)
        polynomial = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
        beyond = 0.5 * polynomial * bell  # Phi(-|x|)
        phi = torch.where(x < 0, beyond, 1 - beyond)
        ctx.save_for_backward(phi + x * bell / math.sqrt(2 * math.pi))
        return x * phi

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Return the gradient of x."""
        (slope,) = ctx.saved_tensors
        return grad * slope


ACTIVATIONS: Mapping[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # the approximation of Hendrycks and Gimpel 2016, sec. 2
    "silu": F.silu,  # x * sigmoid(x)
}
