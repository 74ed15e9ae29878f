"""A text on its way through a model, captured on demand: each hook point once, when it is requested.

Also the feed-forward network as convolutions, which give the same numbers from its captured input.
"""

from collections.abc import Mapping, Sequence
from threading import RLock

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from headlight.analysis.blueprint.plan import STACKS
from headlight.analysis.blueprint.shapes import PROBABILITIES, hook_points_of, norm_of
from headlight.analysis.trace.attention_maps import written_norms
from headlight.analysis.trace.residual_stream import Stream, stream_of, stream_places
from transformer_core.decoding.inputs import final_states, tensor_of
from transformer_core.instrument.capture import capture
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.feed_forward import FeedForward
from transformer_core.model.transformer import Transformer

MOST_BYTES = 64 << 20  # of one text's activations that are kept
INEXACT = 0.05  # relative error of a head's output up to which it counts as computed, in any precision


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
        self._lock = RLock()

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
            site: its name, or that of a value computed from hook points: `PROBABILITIES`, `norm_of` a hook point, or
                `written_norms_of` a pattern.

        Raises:
            SiteError: the model has no such hook point.
        """
        with self._lock:
            self.keep(site)
            return self._kept[site]

    def keep(self, *sites: str) -> None:
        """Capture what is not kept yet in one forward pass; `values` returns it."""
        with self._lock:
            missing = [site for site in sites if site not in self._kept]
            if missing:
                activations = self._captured(
                    *dict.fromkeys(point for site in missing for point in hook_points_of(site))
                )
                for site in missing:
                    self._keep(site, self._value(site, activations))

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

    @torch.inference_mode()
    def _value(self, site: str, activations: Mapping[str, Tensor]) -> Tensor:
        """Return the value of this name [1, ...], given the captured hook points that it is computed from."""
        points = hook_points_of(site)
        if points == (site,):
            return activations[site]
        if site == PROBABILITIES:
            return probabilities(activations[points[0]])
        if site == norm_of(points[0]):
            return activations[points[0]].float().norm(dim=-1)
        module = self.model.get_submodule(site.rpartition(".")[0])
        assert isinstance(module, MultiHeadAttention), "norms of other modules have other names"
        v, pattern, z, attn_out = (activations[point][0].float() for point in points)
        follows = pattern @ v.repeat_interleave(len(pattern) // len(v), dim=0)
        # an output that an intervention replaced, of a head or of the whole attention, comes from no token
        is_own = (follows - z).norm(dim=(1, 2)) <= INEXACT * z.norm(dim=(1, 2))
        output = module.out(activations[points[2]].transpose(1, 2).flatten(start_dim=-2))
        output = output if module.out_norm is None else module.out_norm(output)
        is_own &= (output[0].float() - attn_out).norm() <= INEXACT * attn_out.norm()
        return (written_norms(v, module) * is_own[:, None])[None]

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
