"""Why a decoder is masked when it writes, too: one pass over all tokens against a step for each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.analysis.masks.rules import MaskChoice
from transformer_core.decoding.cache import KeyValueCache
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.decoding.inputs import final_states, tensor_of
from transformer_core.instrument.finite import refuse_not_finite
from transformer_core.instrument.intervene import intervene
from transformer_core.model.transformer import Transformer

ROUNDING: Mapping[str, float] = {"float64": 1e-8, "float32": 1e-4, "float16": 5e-2, "bfloat16": 5e-1}
"""Logits: in each precision, differences up to this are put down to rounding."""

UNMASKED = MaskChoice(preset="none", attention="decoder")
"""No mask on the decoder's self-attention."""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What a decoder says of each next token, read at once and step by step."""

    best: Int[np.ndarray, " pos"]  # the most probable token after each one, from one pass under the causal mask
    in_one_pass: Float[np.ndarray, " pos"]  # its probability there, in [0, 1]
    in_steps: Float[np.ndarray, " pos"]  # its probability where each token is read separately, with a cache
    apart: Float[np.ndarray, " pos"]  # by how much the logits of both differ at most
    apart_unmasked: Float[np.ndarray, " pos"]  # the same, of steps with a cache and without any mask
    grown: Float[np.ndarray, "length pos"]  # row n - 1: the first n tokens read at once; by how much the logits at
    # each position differ at most from what they were when it was the last one; NaN after the text
    grown_unmasked: Float[np.ndarray, "length pos"]  # the same without the mask
    tolerance: float  # logits: differences up to this are put down to rounding, in the model's precision

    @property
    def most_apart(self) -> float:
        """The largest difference between one pass and steps."""
        return float(self.apart.max())

    @property
    def most_apart_unmasked(self) -> float:
        """The same, of steps without a mask."""
        return float(self.apart_unmasked.max())

    @property
    def most_grown(self) -> float:
        """By how much logits move at most as the text grows."""
        return float(np.nanmax(self.grown))

    @property
    def most_grown_unmasked(self) -> float:
        """The same without the mask."""
        return float(np.nanmax(self.grown_unmasked))


@torch.inference_mode()
def steps(model: Transformer, inputs: Sequence[Sequence[int]]) -> Steps:
    """Read a text at once, step by step with a cache, and as it grows, with the causal mask and without.

    Args:
        model: in evaluation mode, with a decoder.
        inputs: source and decoder's input, or the decoder's one text; without padding.

    Raises:
        NotFiniteError: an output is NaN or infinite.
    """
    *source, tokens = [tensor_of(ids, model) for ids in inputs]
    src = source[0] if source else None
    memory = None if src is None else model.encode(src)

    def read(part: Tensor, cache: KeyValueCache | None = None) -> Float[Tensor, "pos vocab"]:
        outputs = model.decode(part, memory, src, cache)[0].float().cpu()
        refuse_not_finite(model, outputs, lambda: final_states(model, inputs))
        return outputs

    def one_by_one() -> Float[Tensor, "pos vocab"]:
        cache = KeyValueCache(model.config.n_decoder_layers)
        return torch.cat([read(token, cache) for token in tokens.split(1, dim=1)])

    def growing() -> Float[np.ndarray, "length pos"]:
        n = tokens.shape[1]
        moved = np.full((n, n), np.nan, dtype=np.float32)
        as_last: list[Tensor] = []
        for length in range(1, n + 1):
            logits = read(tokens[:, :length])
            as_last.append(logits[-1])
            moved[length - 1, :length] = (logits - torch.stack(as_last)).abs().amax(dim=-1).numpy()
        return moved

    at_once, stepwise, grown = read(tokens), one_by_one(), growing()
    with intervene(model, UNMASKED.interventions(model.config, n_source=None, n_target=None)):
        stepwise_unmasked, grown_unmasked = one_by_one(), growing()
    best = at_once.argmax(dim=-1)

    def probability(logits: Tensor) -> np.ndarray:
        return logits.softmax(dim=-1).gather(-1, best[:, None])[:, 0].numpy()

    return Steps(
        best=best.numpy(),
        in_one_pass=probability(at_once),
        in_steps=probability(stepwise),
        apart=(at_once - stepwise).abs().amax(dim=-1).numpy(),
        apart_unmasked=(at_once - stepwise_unmasked).abs().amax(dim=-1).numpy(),
        grown=grown,
        grown_unmasked=grown_unmasked,
        tolerance=ROUNDING[str(next(model.parameters()).dtype).removeprefix("torch.")],
    )


def write_four_ways(
    model: Transformer, prompt: Sequence[int], *, n_new: int
) -> dict[tuple[bool, bool], tuple[int, ...]]:
    """Write greedily with the causal mask and without, with a cache and without.

    Args:
        model: in evaluation mode, with a decoder.
        prompt: the source, or the prompt.
        n_new: tokens to write at most.

    Returns:
        by (is masked, has a cache), the tokens that were written.
    """
    n_begun = 1 if model.config.has_encoder else len(prompt)
    without = UNMASKED.interventions(model.config, n_source=None, n_target=None)
    ways = {}
    for is_masked in (True, False):
        for has_cache in (True, False):
            with intervene(model, {} if is_masked else without):
                decoding = greedy_decode(model, tensor_of(prompt, model), max_new_tokens=n_new, use_cache=has_cache)
            ways[is_masked, has_cache] = tuple(decoding.tokens[0, n_begun:].tolist())
    return ways
