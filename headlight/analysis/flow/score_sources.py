"""One head's scores as sums over pairs: a source of the query, and a source of the key.

Queries and keys are read from a sum: the token's embedding, its position, and the output of each earlier head and
feed-forward network. Projections are linear, so each score is a sum over pairs of sources.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from headlight.analysis.flow.stream_split import StreamSplit
from headlight.analysis.flow.stream_steps import (
    Normed,
    SourceKind,
    SourceName,
    Written,
    out_norm,
    sites_of,
    stream_to,
)
from headlight.analysis.trace.traced_forward import captured
from headlight.analysis.walkthrough.filling import Weights
from headlight.analysis.walkthrough.outline import Outline
from headlight.analysis.walkthrough.recomputing import distance_bias
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreSources:
    """The scores of one head on one text, by their sources; all in float64.

    Summed over both sources, a cell gives scale * q · k; adding the bias gives the model's score before cap and mask.
    """

    sources_of_query: tuple[SourceName, ...]
    sources_of_key: tuple[SourceName, ...]
    parts_q: Float[np.ndarray, "source query d_head"]  # they sum to q
    parts_k: Float[np.ndarray, "_ key d_head"]  # they sum to k
    bias: Float[np.ndarray, "query key"] | None  # the relative position bias; None: there is none
    scale: float  # 1 / sqrt(d_head), or 1
    cap: float | None  # soft cap of the scores; None: there is none
    scores: Float[np.ndarray, "query key"]  # the model's, -inf where nothing may be attended to
    has_frozen_norms: bool  # the model normalizes: each is split as a division by this text's values

    @property
    def n_bytes(self) -> int:
        """Memory that it takes, in bytes."""
        bias = 0 if self.bias is None else self.bias.nbytes
        return self.parts_q.nbytes + self.parts_k.nbytes + self.scores.nbytes + bias

    @property
    def largest_error(self) -> float:
        """The largest difference between the sums and the model's scores, where it may attend: rounding."""
        summed = self.by_kind(None, None) + (0 if self.bias is None else self.bias)
        if self.cap is not None:
            summed = self.cap * np.tanh(summed / self.cap)
        allowed = np.isfinite(self.scores)
        return float(np.abs(summed[allowed] - self.scores[allowed]).max(initial=0.0))

    def cell(self, query: int, key: int) -> Float[np.ndarray, "source_q source_k"]:
        """Return one score by the sources of its query (rows) and of its key (columns); without the bias."""
        return self.scale * self.parts_q[:, query] @ self.parts_k[:, key].T

    def by_kind(
        self, kinds_q: Collection[SourceKind] | SourceKind | None, kinds_k: Collection[SourceKind] | SourceKind | None
    ) -> Float[np.ndarray, "query key"]:
        """Return the part of each score from one or several kinds of sources (None: all), without the bias."""
        q = self.parts_q[_of_kinds(self.sources_of_query, kinds_q)].sum(axis=0)
        k = self.parts_k[_of_kinds(self.sources_of_key, kinds_k)].sum(axis=0)
        return self.scale * q @ k.T


@torch.inference_mode()
def score_sources(
    model: Transformer, inputs: Sequence[Sequence[int]], *, attention: str, layer: int, head: int
) -> ScoreSources:
    """Run the model once over a text, and split one head's scores into their sources.

    The split is exact, except that a normalization counts as a division by its value on this text, which would change
    if a source were removed. Heads and feed-forward networks count with their outputs on this text. All biases on the
    way are one source; those of values and inside feed-forward networks belong to the head and the network.

    Args:
        model: in evaluation mode, on any device and in any precision.
        inputs: tokens of the text, and of the decoder's input where there are two stacks: `ModelRun.inputs`.
        attention: "encoder", "decoder" or "cross".
        layer: from 0.
        head: from 0.

    Raises:
        ConfigError: the model does not have this attention, layer or head.
        TextError: the model cannot take the tokens.

    Source: Elhage et al. 2021, "A mathematical framework for Transformer circuits", for scores as sums over pairs of
    sources; Dai et al. 2019, "Transformer-XL", sec. 3.3, for content and position.
    """
    config = model.config
    outline = Outline(config, attention=attention, layer=layer, head=head)
    steps_q = stream_to(config, outline.stack, layer=layer, until="cross_attn" if outline.is_cross else "self_attn")
    steps_k = stream_to(config, "encoder", layer=layer, until="end") if outline.is_cross else steps_q
    steps = (*steps_q, *steps_k)
    scores_site = outline.attention.site(layer, "hook_attn_scores")
    sites = {site for step in steps for site in sites_of(step) if site}
    activations = captured(model, inputs, scores_site, *sorted(sites))
    arrays = {site: value[0].double().cpu().numpy() for site, value in activations.items()}
    modules = {step.module for step in steps if step.module is not None}
    if config.output_norm:
        modules |= {out_norm(step) for step in steps if isinstance(step, Written) and step.module is not None}
    weights = Weights.of(model, (outline.module, f"{outline.stack}.position_bias", *modules))
    scores = arrays.pop(scores_site)[head]
    heads = {"q": head, "k": outline.key_value_head}
    read = StreamSplit(outline, weights, arrays, steps_q).read_by({"q": head} if outline.is_cross else heads)
    if outline.is_cross:
        read |= StreamSplit(outline, weights, arrays, steps_k).read_by({"k": heads["k"]})

    (sources_q, parts_q), (sources_k, parts_k) = read["q"], read["k"]
    bias = distance_bias(model, outline, scores.shape[0])
    return ScoreSources(
        sources_of_query=sources_q,
        sources_of_key=sources_k,
        parts_q=parts_q,
        parts_k=parts_k,
        bias=None if bias is None else bias[head].double().numpy(),
        scale=float(1 / np.sqrt(config.d_head)) if config.scale_scores else 1.0,
        cap=config.score_cap,
        scores=scores,
        has_frozen_norms=config.qk_norm or config.output_norm or any(isinstance(step, Normed) for step in steps),
    )


def _of_kinds(sources: tuple[SourceName, ...], kinds: Collection[SourceKind] | SourceKind | None) -> list[int]:
    chosen = (kinds,) if isinstance(kinds, str) else kinds
    return [i for i, source in enumerate(sources) if chosen is None or source.kind in chosen]
