"""The feed-forward network as convolutions: the same numbers by another operation."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_core.model.feed_forward import FeedForward


@torch.inference_mode()
def as_convolutions(network: FeedForward, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
    """Return FFN(x) computed by convolutions of kernel size 1 over the positions, with the network's own weights.

    Args:
        network: in evaluation mode.
        x: what comes into the network.

    Source: Vaswani et al. 2017, sec. 3.3: "Another way of describing this is as two convolutions with kernel size 1."
    """
    channels = x.transpose(1, 2)  # [batch, d_model, pos], as convolutions take it
    if network.is_gated:
        hidden = network.activation(_convolve(channels, network.gate)) * _convolve(channels, network.up)
    else:
        hidden = network.activation(_convolve(channels, network.up))
    return _convolve(hidden, network.down).transpose(1, 2)


@torch.inference_mode()
def convolution_error(
    network: FeedForward, x: Float[np.ndarray, "pos d_model"], output: Float[np.ndarray, "pos d_model"]
) -> float:
    """Return the largest difference between a network's output and what convolutions make of its input.

    Args:
        network: in evaluation mode.
        x: what came into the network.
        output: what it gave.
    """
    weight = network.up.weight
    computed = as_convolutions(network, torch.from_numpy(x)[None].to(weight.device, weight.dtype))
    return float((computed[0].float().cpu() - torch.from_numpy(output)).abs().max())


def _convolve(channels: Float[Tensor, "batch wide pos"], linear: nn.Linear) -> Float[Tensor, "batch other pos"]:
    """Apply a linear layer at each position by a convolution: its matrix is a kernel of size 1."""
    return F.conv1d(channels, linear.weight[:, :, None], linear.bias)
