"""How much of a head's scores depends on the tokens, and how much on their positions.

Where positions are added to the embeddings, each score is a sum of four products: content or position of the query with
content or position of the key. Where they turn queries and keys, or add to the scores, it is a sum of two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from jaxtyping import Bool, Float

from headlight.analysis.flow.score_sources import score_sources
from headlight.analysis.flow.stream_steps import SourceKind
from headlight.analysis.positions.relative import backwards
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.traced_forward import captured
from transformer_core.model.transformer import Transformer

PartName = Literal[
    "content_content",
    "content_position",
    "position_content",
    "position_position",
    "unturned",
    "turning",
    "distance",
    "rest",
]
CONTENT: tuple[SourceKind, ...] = ("token", "head", "feed_forward")  # what earlier layers wrote counts as content
OF_POSITIONS: tuple[PartName, ...] = (
    *("content_position", "position_content", "position_position"),
    *("turning", "distance"),
)
MOST_HEADS = 48  # the most heads that `shares_of_heads` computes
_NOTHING = 1e-12  # of a variance


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreParts:
    """The scores of a head before the softmax, as a sum of parts."""

    scores: Float[np.ndarray, "query key"]  # the model's own scores, where the mask allows them
    parts: Mapping[PartName, Float[np.ndarray, "query key"]]  # they add up to the scores
    mask: Bool[np.ndarray, "query key"]  # True = may attend
    is_frozen: bool  # there are normalizations in between; their statistics are held fixed

    @property
    def error(self) -> float:
        """Return the largest difference between a score and the sum of its parts, among the allowed cells."""
        total = np.sum([*self.parts.values()], axis=0)
        return float(np.abs(total - self.scores)[self.mask].max(initial=0.0))

    def shares(self) -> Mapping[PartName, float]:
        """Return the share of each part in the variation of scores within rows; the shares sum to 1.

        The softmax ignores what all keys of a query have in common, so each row is centred on its mean. A part's share
        is its covariance with the scores divided by their variance, over all allowed cells; it is negative if the
        part works against the others, and NaN if the scores of each row are all equal.
        """
        total = _around_mean(np.sum([*self.parts.values()], axis=0), self.mask)
        variance = float((total**2).sum())
        return {
            name: float((_around_mean(part, self.mask) * total).sum()) / variance if variance > _NOTHING else np.nan
            for name, part in self.parts.items()
        }

    @property
    def share_of_positions(self) -> float:
        """Return the total share of the parts that involve positions; NaN if the scores do not vary within rows."""
        shares = self.shares()
        of_positions = [share for name, share in shares.items() if name in OF_POSITIONS]
        return float(np.nan if np.isnan([*shares.values()]).any() else sum(of_positions))


def _around_mean(values: Float[np.ndarray, "query key"], mask: Bool[np.ndarray, "query key"]) -> np.ndarray:
    """Return the values minus the mean of their row over allowed cells, 0 in forbidden cells."""
    n_allowed = np.maximum(mask.sum(axis=1, keepdims=True), 1)
    allowed = np.where(mask, values, 0.0)
    return np.where(mask, values - allowed.sum(axis=1, keepdims=True) / n_allowed, 0.0)


@torch.inference_mode()
def score_parts(
    model: Transformer, inputs: Sequence[Sequence[int]], *, attention: str, layer: int, head: int
) -> ScoreParts:
    """Split the scores of a head into their parts.

    Args:
        model: in evaluation mode.
        inputs: the tokens of the text, and of the decoder, as `ModelRun.inputs` has them.
        attention: a name in ATTENTIONS that the model has.
        layer: of the head.
        head: its number.

    Source: Ke et al. 2021, "Rethinking positional encoding in language pre-training", eq. (4), for the four products.
    """
    kind = ATTENTIONS[attention]
    stems = ("hook_q", "hook_k", "hook_attn_scores", "hook_mask")
    sites = [kind.site(layer, stem) for stem in stems]
    activations = captured(model, inputs, *sites)
    q, k, scores, mask = (activations[site].cpu() for site in sites)
    config = model.config
    group = config.n_heads // config.n_kv_heads
    allowed = mask[0, head if mask.shape[1] > 1 else 0].numpy()
    seen = np.where(allowed, scores[0, head].float().numpy(), 0.0)
    if config.score_cap is not None:  # the parts add up to the scores before the cap
        seen = config.score_cap * np.arctanh(seen.astype(np.float64) / config.score_cap)
    if config.positions in ("learned", "sinusoidal_halves", "sinusoidal_interleaved"):
        parts, is_frozen = _four(model, inputs, attention, layer, head)
    else:
        scale = config.d_head**-0.5 if config.scale_scores else 1.0
        q, k = q.double(), k.double()
        product = scale * (q[0, head] @ k[0, head // group].T).numpy()
        parts, is_frozen = {"content_content": product}, False
        stack = model.encoder if kind.queries_from == "source" else model.decoder
        assert stack is not None, "the model has this attention"
        rotary = stack.rotary_in(layer)
        if attention != "cross" and rotary is not None:
            back = backwards(rotary(0, q.shape[2], torch.device("cpu")))
            unturned = scale * (back.rotate(q)[0, head] @ back.rotate(k)[0, head // group].T).numpy()
            parts = {"unturned": unturned, "turning": product - unturned}
        elif attention != "cross" and (bias := stack.bias_at(0, len(product), stack.embed.weight.device)) is not None:
            parts["distance"] = bias.write_out()[0, head].double().cpu().numpy()
    parts = {name: np.where(allowed, part, 0.0) for name, part in parts.items()}
    return ScoreParts(scores=seen, parts=parts, mask=allowed, is_frozen=is_frozen)


def shares_of_heads(
    model: Transformer, inputs: Sequence[Sequence[int]], *, attention: str
) -> Float[np.ndarray, "layer head"] | None:
    """Return the share of positions in the scores of every head of an attention; None where there are too many heads.

    Args:
        model: in evaluation mode.
        inputs: as for `score_parts`.
        attention: a name in ATTENTIONS that the model has.
    """
    n_layers, n_heads = ATTENTIONS[attention].n_layers(model.config), model.config.n_heads
    if n_layers * n_heads > MOST_HEADS:
        return None
    shares = [
        [
            score_parts(model, inputs, attention=attention, layer=layer, head=head).share_of_positions
            for head in range(n_heads)
        ]
        for layer in range(n_layers)
    ]
    return np.array(shares, dtype=np.float32)


def _four(
    model: Transformer, inputs: Sequence[Sequence[int]], attention: str, layer: int, head: int
) -> tuple[dict[PartName, Float[np.ndarray, "query key"]], bool]:
    """Return the four products of content and position, and the rest, which involves biases and segments."""
    sources = score_sources(model, inputs, attention=attention, layer=layer, head=head)
    kinds: dict[str, tuple[SourceKind, ...]] = {"content": CONTENT, "position": ("position",)}
    parts = {
        cast(PartName, f"{of_query}_{of_key}"): sources.by_kind(query_kinds, key_kinds)
        for of_query, query_kinds in kinds.items()
        for of_key, key_kinds in kinds.items()
    }
    parts["rest"] = sources.by_kind(None, None) - np.sum([*parts.values()], axis=0)
    if sources.bias is not None:
        parts["distance"] = sources.bias
    return parts, sources.has_frozen_norms
