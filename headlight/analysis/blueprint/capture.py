"""A text on its way through a model, captured on demand: each hook point once, when it is requested.

Also the feed-forward network as convolutions, which give the same numbers from its captured input.
"""

from collections.abc import Sequence
from threading import Lock

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from headlight.analysis.blueprint.plan import STACKS
from headlight.analysis.blueprint.shapes import PROBABILITIES
from headlight.analysis.trace.residual_stream import Stream, stream_of, stream_places
from transformer_core.decoding.inputs import final_states, tensor_of
from transformer_core.instrument.capture import capture
from transformer_core.model.feed_forward import FeedForward
from transformer_core.model.transformer import Transformer

MOST_BYTES = 64 << 20  # of one text's activations that are kept


class CapturedText:
    """Values at a model's hook points on one text, captured on demand."""

    def __init__(self, model: Transformer, inputs: Sequence[Sequence[int]]) -> None:
        """Set the model and the text to read; nothing runs yet.

        Args:
            model: in evaluation mode.
            inputs: as for `final_states`.
        """
        self.model = model
        self._inputs = [tensor_of(tokens, model) for tokens in inputs]
        self._kept: dict[str, np.ndarray] = {}
        self._stream: dict[str, Stream] = {}
        self._lock = Lock()

    @property
    def lengths(self) -> dict[str, int]:
        """The number of tokens that each stack reads, by its name."""
        config = self.model.config
        stacks = [*(["encoder"] if config.has_encoder else []), *(["decoder"] if config.has_decoder else [])]
        return {stack: tokens.shape[1] for stack, tokens in zip(stacks, self._inputs, strict=False)}

    @property
    def n_bytes(self) -> int:
        """Memory that is kept, in bytes."""
        streams = sum(stream.n_bytes for stream in [*self._stream.values()])
        return streams + sum(values.nbytes for values in [*self._kept.values()])

    def values(self, site: str) -> np.ndarray:
        """Return the value at a hook point without the batch axis; booleans stay booleans.

        Args:
            site: its name, or `PROBABILITIES`.

        Raises:
            SiteError: the model has no such hook point.
        """
        with self._lock:
            if site not in self._kept and site == PROBABILITIES:
                self._keep(site, probabilities(self._captured("hook_logits")["hook_logits"]))
            elif site not in self._kept:
                self._keep(site, *self._captured(site).values())
            return self._kept[site]

    def keep(self, *sites: str) -> None:
        """Capture the hook points that are not kept yet in one forward pass; `values` returns them."""
        with self._lock:
            missing = [site for site in sites if site not in self._kept and site != PROBABILITIES]
            for site, value in (self._captured(*missing) if missing else {}).items():
                self._keep(site, value)

    def streams(self) -> dict[str, Stream]:
        """Return the residual stream of each stack on its way through the layers."""
        with self._lock:
            if not self._stream:
                places = {stack: stream_places(self.model.config, stack) for stack in self.lengths}
                activations = self._captured(*{site for each in places.values() for one in each for site in one.sites})
                norms = {site: _array(value[0].float().norm(dim=-1)) for site, value in activations.items()}
                self._stream = {stack: stream_of(norms, each) for stack, each in places.items()}
            return self._stream

    @torch.inference_mode()
    def _captured(self, *sites: str) -> dict[str, Tensor]:
        """Run the model once, and return the values at some hook points [1, ...]."""
        with capture(self.model, *sites) as activations:
            is_within_stacks = all(site.startswith(STACKS) for site in sites)
            final = final_states(self.model, self._inputs)
            if not is_within_stacks:  # logits of a long text are large
                self.model.logits_of(final)
        return dict(activations)

    def _keep(self, site: str, value: Tensor) -> None:
        """Keep captured values; beyond the memory limit, drop those requested first."""
        self._kept[site] = value[0].cpu().numpy() if value.dtype == torch.bool else _array(value[0])
        while sum(kept.nbytes for kept in self._kept.values()) > MOST_BYTES and len(self._kept) > 1:
            del self._kept[next(iter(self._kept))]


def probabilities(logits: Float[Tensor, "batch pos vocab"]) -> Float[Tensor, "batch pos vocab"]:
    """Return softmax(logits) over the vocabulary: each row sums to 1.

    Source: Vaswani et al. 2017, sec. 3.4.
    """
    return logits.float().softmax(dim=-1)


def _array(tensor: Tensor) -> np.ndarray:
    """Return a tensor of any device and precision as a float32 array."""
    return tensor.float().cpu().numpy()


@torch.inference_mode()
def as_convolutions(network: FeedForward, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
    """Return FFN(x) computed by convolutions of kernel size 1 over the positions, with the network's own weights.

    Args:
        network: in evaluation mode.
        x: input of the network.

    Source: Vaswani et al. 2017, sec. 3.3: "Another way of describing this is as two convolutions with kernel size 1."
    """
    channels = x.transpose(1, 2)  # [batch, d_model, pos], as convolutions take it
    if network.is_gated:
        hidden = network.activation(_convolve(channels, network.gate)) * _convolve(channels, network.up)
    else:
        hidden = network.activation(_convolve(channels, network.up))
    output = _convolve(hidden, network.down).transpose(1, 2)
    return output if network.out_norm is None else network.out_norm(output)


@torch.inference_mode()
def convolution_error(
    network: FeedForward, x: Float[np.ndarray, "pos d_model"], output: Float[np.ndarray, "pos d_model"]
) -> float:
    """Return the largest difference between a network's output and that of the convolutions on the same input.

    Args:
        network: in evaluation mode.
        x: input of the network.
        output: its output.
    """
    weight = network.up.weight
    computed = as_convolutions(network, torch.from_numpy(x)[None].to(weight.device, weight.dtype))
    return float((computed[0].float().cpu() - torch.from_numpy(output)).abs().max())


def _convolve(channels: Float[Tensor, "batch wide pos"], linear: nn.Linear) -> Float[Tensor, "batch other pos"]:
    """Apply a linear layer at each position by a convolution: its matrix is a kernel of size 1."""
    return F.conv1d(channels, linear.weight[:, :, None], linear.bias)
