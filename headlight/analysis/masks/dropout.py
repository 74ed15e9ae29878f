"""Dropout on the pattern, as in training: which weights it sets to 0, and how the output changes."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.analysis.masks.run import Predictions, outputs_at, predictions
from headlight.analysis.masks.text import MaskText
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.trace.dropout import keep_mask
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.sites import Site
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer


@dataclass(frozen=True, kw_only=True)
class DropoutOutcome:
    """One head's pattern before and after dropout, and the model's predictions without and with it."""

    pattern: Float[np.ndarray, "query key"]  # before; each row sums to 1, or is all 0 where nothing may be attended to
    keep: Float[np.ndarray, "query key"]  # 0 where a weight is dropped, else 1 / (1 - p)
    dropped_pattern: Float[np.ndarray, "query key"]  # after: pattern * keep, which the values are multiplied by
    before: Predictions
    now: Predictions
    moved: Float[np.ndarray, " asked"]  # largest absolute difference of the outputs at each target


@torch.inference_mode()
def run_dropout(
    model: Transformer,
    tokenizer: Tokenizer,
    text: MaskText,
    *,
    attention: str,
    layer: int,
    head: int,
    probability: float,
    seed: int,
) -> DropoutOutcome:
    """Run a model without dropout, and with dropout on the pattern of each of its attentions, in all layers.

    The masks are those that the model's own dropout modules would draw in training on a CPU with this seed, if
    `dropout_pattern` were the only dropout. Neither the model nor torch's global random state changes.

    Args:
        model: in evaluation mode.
        tokenizer: the model's.
        text: without padding.
        attention: the selected one.
        layer: layer of the attention.
        head: head of that layer.
        probability: p in [0, 1), the probability that a weight is dropped.
        seed: seed of the random numbers.

    Source: Srivastava et al. 2014; on attention weights as in Vaswani et al.'s tensor2tensor.
    """
    generator = torch.Generator().manual_seed(seed)
    sites = {
        name: [of.site(i) for i in range(of.n_layers(model.config))] for name, of in attentions_of(model.config).items()
    }
    looked_at = sites[attention][layer]
    seen: list[tuple[Tensor, Tensor]] = []

    def drop(pattern: Tensor, site: Site) -> Tensor:
        keep = keep_mask(pattern.shape, probability, generator)
        if site.name == looked_at:
            seen.append((pattern[0, head].float().cpu().clone(), keep[0, head].clone()))
        return pattern * keep.to(pattern)

    without = outputs_at(model, text)
    with intervene(model, {site: drop for of in sites.values() for site in of}):
        outputs = outputs_at(model, text)
    pattern, keep = (part.numpy() for part in seen[0])
    return DropoutOutcome(
        pattern=pattern,
        keep=keep,
        dropped_pattern=pattern * keep,
        before=predictions(model, tokenizer, text, without),
        now=predictions(model, tokenizer, text, outputs),
        moved=(outputs - without).abs().amax(dim=-1).numpy(),
    )
