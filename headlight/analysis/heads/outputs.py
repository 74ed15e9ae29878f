"""The output of each head on a text, and the residual stream after each layer."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from headlight.analysis.trace.attentions import attentions_of
from transformer_core.decoding.inputs import final_states
from transformer_core.errors import ConfigError
from transformer_core.instrument.capture import Activations, capture
from transformer_core.model.transformer import Transformer

STATE_SITES = ("*.blocks.0.hook_resid_pre", "*.hook_resid_post")
MAX_TOKENS = 128  # GPT-2: 144 heads x 128 tokens x 768 numbers are 54 MiB


@torch.inference_mode()
def head_outputs(
    model: Transformer, inputs: Sequence[Sequence[int]], *, max_tokens: int = MAX_TOKENS
) -> dict[str, Float[np.ndarray, "layer head pos d_model"]]:
    """Return every head's output to the residual stream on one text: z W_O, with the head's own rows of W_O.

    Args:
        model: in evaluation mode, on any device and in any precision.
        inputs: as for `final_states`.
        max_tokens: of each side; outputs take d_model numbers per head and token.

    Returns:
        by name of attention, as ATTENTIONS has them, float32. Over the heads of a layer they sum to `attn_out`, but for
        the bias of the last projection, and before its normalization in models with `output_norm`.

    Raises:
        ConfigError: the text has more tokens.

    Source: Elhage et al. 2021, "Attention Heads are Independent and Additive".
    """
    n_tokens = max(map(len, inputs))
    if n_tokens > max_tokens:
        raise ConfigError(
            "head outputs are limited to {max_tokens:,} tokens, and this text has {n_tokens:,}; shorten the text, "
            "or raise max_tokens",
            max_tokens=max_tokens,
            n_tokens=n_tokens,
        )
    with capture(model, "*.hook_z") as activations:
        final_states(model, inputs)
    outputs = {}
    for name, attention in attentions_of(model.config).items():
        n_layers, n_heads = attention.n_layers(model.config), model.config.n_heads
        n_positions = activations[attention.site(0, "hook_z")].shape[2]
        written = np.empty((n_layers, n_heads, n_positions, model.config.d_model), dtype=np.float32)
        for layer in range(n_layers):
            z = activations[attention.site(layer, "hook_z")][0].float()  # [head, pos, d_head]
            w_out = model.get_parameter(f"{attention.module.format(layer=layer)}.out.weight").float()
            w_out = w_out.unflatten(-1, (n_heads, -1)).permute(1, 2, 0)  # [head, d_head, d_model]
            written[layer] = (z @ w_out).cpu().numpy()
        outputs[name] = written
    return outputs


@torch.inference_mode()
def layer_states(
    model: Transformer, inputs: Sequence[Sequence[int]]
) -> dict[str, Float[np.ndarray, "state pos d_model"]]:
    """Return the residual stream before the first block of each stack, and after each block.

    Args:
        model: in evaluation mode, on any device and in any precision.
        inputs: as for `final_states`.

    Returns:
        by "encoder" and "decoder", whichever the model has, n_layers + 1 states, float32: `hook_resid_pre` of block 0
        and `hook_resid_post` of each. In post-norm these are the sums before the block's last normalization.
    """
    with capture(model, *STATE_SITES) as activations:
        final_states(model, inputs)
    return states_in(activations)


def states_in(activations: Activations) -> dict[str, Float[np.ndarray, "state pos d_model"]]:
    """Return the states of `layer_states` from a capture of `STATE_SITES`."""
    states: dict[str, list[np.ndarray]] = {}
    for site, state in activations.items():
        if site.endswith(("hook_resid_pre", "hook_resid_post")):
            states.setdefault(site.partition(".")[0], []).append(state[0].float().cpu().numpy())
    return {stack: np.stack(of_stack) for stack, of_stack in states.items()}
