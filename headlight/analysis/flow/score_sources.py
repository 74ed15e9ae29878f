"""One head's scores as sums over pairs: a source of the query, and a source of the key.

Queries and keys are read from a sum: the token's embedding, its position, and the output of each earlier head and
feed-forward network. Projections are linear, so each score is a sum over pairs of sources.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.residual_stream import embedding_sites, sublayers
from headlight.analysis.trace.traced_forward import captured
from headlight.analysis.walkthrough.filling import Weights
from headlight.analysis.walkthrough.outline import Outline
from headlight.analysis.walkthrough.recomputing import distance_bias
from transformer_core.config import ModelConfig
from transformer_core.model.rotary import RotaryPositions
from transformer_core.model.transformer import Transformer

SourceKind = Literal["token", "position", "segment", "head", "feed_forward", "bias"]


@dataclass(frozen=True, kw_only=True)
class SourceName:
    """A part of the model that writes into the vectors that an attention reads."""

    kind: SourceKind
    layer: int | None = None  # of heads and feed-forward networks
    head: int | None = None  # of heads
    attention: str | None = None  # of heads: "encoder", "decoder" or "cross"


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


Captured = Mapping[str, Float[np.ndarray, "..."]]
Sides = dict[str, tuple[tuple[SourceName, ...], Float[np.ndarray, "source pos d_head"]]]
BIAS = SourceName(kind="bias")
Until = Literal["self_attn", "cross_attn", "end"]
"""The reader that the stream is followed to: self-attention, cross-attention, or the reader of the whole stack."""


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
    sites = {site for step in steps for site in _sites(step) if site}
    activations = captured(model, inputs, scores_site, *sorted(sites))
    arrays = {site: value[0].double().cpu().numpy() for site, value in activations.items()}
    modules = {step.module for step in steps if step.module is not None}
    if config.output_norm:
        modules |= {_out_norm(step) for step in steps if isinstance(step, Written) and step.module is not None}
    weights = Weights.of(model, (outline.module, f"{outline.stack}.position_bias", *modules))
    scores = arrays.pop(scores_site)[head]
    heads = {"q": head, "k": outline.key_value_head}
    read = _Split(outline, weights, arrays, steps_q).read_by({"q": head} if outline.is_cross else heads)
    if outline.is_cross:
        read |= _Split(outline, weights, arrays, steps_k).read_by({"k": heads["k"]})
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
        has_frozen_norms=config.qk_norm or any(isinstance(step, Normed) for step in steps),
    )


@dataclass(frozen=True, kw_only=True)
class Written:
    """A step that adds a vector to the stream."""

    source: SourceName
    site: str | None  # where it was captured; for a head, its z; None: a bias
    module: str | None = None  # path of the head's output projection, or of the module that has the bias


@dataclass(frozen=True, kw_only=True)
class Normed:
    """A step that normalizes the stream, or the input of its reader."""

    module: str
    sites: tuple[str, ...]  # the input of the normalization is the sum of these


@dataclass(frozen=True, kw_only=True)
class Projected:
    """A step that projects the normalized embeddings to the width of the stream."""

    module: str


Step = Written | Normed | Projected


def stream_to(config: ModelConfig, stack: str, *, layer: int, until: Until) -> tuple[Step, ...]:
    """Return the steps of the residual stream of a stack before it is read, in order.

    Args:
        config: of the model.
        stack: "encoder" or "decoder".
        layer: of the block whose attention reads; with "end" it does not count.
        until: the reader.
    """
    embedded = embedding_sites(config, stack)
    steps: list[Step] = [Written(source=SourceName(kind=kind), site=site) for kind, site in embedded.items()]
    if config.embedding_norm:
        steps.append(Normed(module=f"{stack}.embedding_norm", sites=tuple(embedded.values())))
    if config.d_embed:
        steps.append(Projected(module=f"{stack}.embedding_projection"))
    is_pre_norm, has_norm = config.norm_position == "pre", config.norm != "none"
    read = ""
    for i in range(ATTENTIONS[stack].n_layers(config)):
        block = f"{stack}.blocks.{i}"
        read = f"{block}.hook_resid_pre"
        for part in sublayers(config, stack):
            norm = f"{block}.{part.norm}"
            if (i, part.name) == (layer, until):
                is_normalized = is_pre_norm and config.normalizes(i, part.norm)
                return (*steps, *([Normed(module=norm, sites=(read,))] if is_normalized else []))
            steps += _written_by(config, stack, i, part.name)
            read = f"{block}.{part.sum}"
            if not is_pre_norm:
                steps.append(Normed(module=norm, sites=(read,)))
                read = f"{norm}.hook_normalized"
    if config.has_final_norm and has_norm:
        steps.append(Normed(module=f"{stack}.ln_final", sites=(read,)))
    return tuple(steps)


def _written_by(config: ModelConfig, stack: str, layer: int, part: str) -> Iterator[Written]:
    block = f"{stack}.blocks.{layer}"
    if part == "mlp":
        yield Written(source=SourceName(kind="feed_forward", layer=layer), site=f"{block}.hook_mlp_out")
        return
    module, attention = f"{block}.{part}", "cross" if part == "cross_attn" else stack
    for head in range(config.n_heads):
        source = SourceName(kind="head", layer=layer, head=head, attention=attention)
        yield Written(source=source, site=f"{module}.hook_z", module=f"{module}.out")
    if config.attention_bias == "all" or (config.output_norm and config.norm == "layer"):
        yield Written(source=SourceName(kind="bias"), site=None, module=f"{module}.out")


def _out_norm(step: Written) -> str:
    """Return the normalization of the sum of what the heads of an attention write, in models that have it."""
    return f"{(step.module or '').removesuffix('.out')}.out_norm"


def _sites(step: Step) -> tuple[str | None, ...]:
    """Return the hook points whose activations a step needs."""
    if isinstance(step, Projected):
        return ()
    return step.sites if isinstance(step, Normed) else (step.site,)


class _Split:
    """The stream that queries or keys are read from, split into the vectors written into it."""

    def __init__(self, outline: Outline, weights: Weights, captured: Captured, steps: tuple[Step, ...]) -> None:
        """Store the steps, and compute the divisor of each normalization."""
        self._outline, self._config = outline, outline.config
        self._weights, self._captured, self._steps = weights, captured, steps
        self._deviations = {
            step.module: _deviation(np.sum([captured[site] for site in step.sites], axis=0), self._config)
            for step in steps
            if isinstance(step, Normed)
        }
        heads = [step for step in steps if isinstance(step, Written) and step.source.head == 0]
        if self._config.output_norm:
            self._deviations |= {_out_norm(step): self._deviation_of_output(step) for step in heads}

    def _deviation_of_output(self, step: Written) -> Float[np.ndarray, "pos 1"]:
        """Return the divisor of an attention's output, given the step of one of its heads."""
        z, bias = self._captured[step.site or ""], self._weights.bias(step.module or "")
        concat = z.transpose(1, 0, 2).reshape(z.shape[1], -1)  # [pos, head d_head]
        output = concat @ self._weights[f"{step.module}.weight"].T + (0 if bias is None else bias)
        return _deviation(output, self._config)

    def read_by(self, heads: Mapping[str, int]) -> Sides:
        """Return the sources, and the contribution of each to a head's queries ("q") or keys ("k").

        Args:
            heads: by "q" and "k", the head whose queries or keys are read.
        """
        d_head, module = self._config.d_head, self._outline.module
        rows = {name: slice(head * d_head, (head + 1) * d_head) for name, head in heads.items()}
        read = np.concatenate([self._weights[f"{module}.{name}.weight"][rows[name]] for name in heads]).T
        written = [(i, step) for i, step in enumerate(self._steps) if isinstance(step, Written) and step.source != BIAS]
        n_positions = len(self._captured[written[0][1].site or ""])
        total = biases = self._passed_on(
            np.zeros((n_positions, self._config.embedding_width)), self._steps, with_biases=True
        )
        parts = []
        for i, step in written:
            part = self._passed_on(self._written(step), self._steps[i + 1 :])
            total = total + part
            parts.append(part @ read)
        split = np.stack([*parts, biases @ read])  # [source, pos, d_head of each]
        sources = tuple(step.source for _, step in written)
        sides = zip(heads, np.split(split, len(heads), axis=-1), strict=True)
        return {name: self._finished(name, heads[name], sources, side, total) for name, side in sides}

    def _finished(
        self,
        name: str,
        head: int,
        sources: tuple[SourceName, ...],
        split: Float[np.ndarray, "source pos d_head"],
        total: Float[np.ndarray, "pos d_model"],
    ) -> tuple[tuple[SourceName, ...], Float[np.ndarray, "_ pos d_head"]]:
        """Return queries or keys by source, after bias, normalization and rotation."""
        module, d_head = f"{self._outline.module}.{name}", self._config.d_head
        bias = self._weights.bias(module)
        if bias is not None:
            split[-1] += bias[head * d_head : (head + 1) * d_head]
        if self._config.qk_norm:
            split = self._head_normalized(split, module, head, total)
        if self._outline.is_rotated:
            rotation = RotaryPositions(self._config)(0, split.shape[1], torch.device("cpu"))
            split = rotation.rotate(torch.from_numpy(split)[None])[0].numpy()
        return ((*sources, BIAS), split) if split[-1].any() else (sources, split[:-1])

    def _head_normalized(
        self,
        split: Float[np.ndarray, "source pos d_head"],
        module: str,
        head: int,
        total: Float[np.ndarray, "pos d_model"],
    ) -> Float[np.ndarray, "source pos d_head"]:
        """Return queries or keys by source, after the normalization of one head, or of all heads together."""
        scope, d_head = self._config.qk_norm_scope, self._config.d_head
        normalized = split.sum(axis=0)
        if scope == "joint":
            weight = self._weights[f"{module}.weight"]
            normalized = total @ weight.T + self._bias(module, len(weight))
        own = slice(None) if scope == "shared" else slice(head * d_head, (head + 1) * d_head)
        bias = self._weights.bias(f"{module}_norm")
        gain = self._weights[f"{module}_norm.weight"][own]
        split = _centred(split, self._config.norm) / _deviation(normalized, self._config) * gain
        split[-1] += 0 if bias is None else bias[own]
        return split

    def _written(self, step: Written) -> Float[np.ndarray, "pos d_model"]:
        assert step.site is not None, "a bias is not captured"
        value = self._captured[step.site]
        if step.module is None:
            return value
        assert step.source.head is not None, "what is written by a projection is a head's"
        d_head, head = self._config.d_head, step.source.head
        result = value[head] @ self._weights.columns(f"{step.module}.weight", head * d_head, d_head).T
        norm = _out_norm(step)
        return self._through(result, norm, self._deviations[norm]) if self._config.output_norm else result

    def _passed_on(
        self, part: Float[np.ndarray, "pos width"], steps: Sequence[Step], *, with_biases: bool = False
    ) -> Float[np.ndarray, "pos d_model"]:
        """Return a part of the stream after the normalizations in `steps`; `with_biases`: add the steps' biases too."""
        for step in steps:
            if isinstance(step, Normed):
                part = self._through(part, step.module, self._deviations[step.module])
            elif isinstance(step, Projected):
                part = part @ self._weights[f"{step.module}.weight"].T
            if with_biases and not isinstance(step, Written):
                part = part + self._bias(step.module, len(part.T))
            elif with_biases and isinstance(step, Written) and step.source == BIAS and step.module is not None:
                width = self._config.d_model
                bias, norm = self._bias(step.module, width), _out_norm(step)
                if self._config.output_norm:
                    bias = self._through(bias + np.zeros_like(part), norm, self._deviations[norm])
                    bias = bias + self._bias(norm, width)
                part = part + bias
        return part

    def _bias(self, module: str, width: int) -> Float[np.ndarray, " width"]:
        bias = self._weights.bias(module)
        return np.zeros(width) if bias is None else bias

    def _through(
        self, part: Float[np.ndarray, "*source pos width"], module: str, deviation: Float[np.ndarray, "pos 1"]
    ) -> Float[np.ndarray, "*source pos width"]:
        """Return a part of the input of a normalization, normalized but without the bias."""
        return _centred(part, self._config.norm) / deviation * self._weights[f"{module}.weight"]


def _deviation(x: Float[np.ndarray, "*axes width"], config: ModelConfig) -> Float[np.ndarray, "*axes 1"]:
    return np.sqrt((_centred(x, config.norm) ** 2).mean(axis=-1, keepdims=True) + config.layer_norm_eps)


def _centred(x: Float[np.ndarray, "*axes width"], norm: str) -> Float[np.ndarray, "*axes width"]:
    """Return vectors minus their mean, if the normalization subtracts it; this is linear, so it keeps sums."""
    return x if norm == "rms" else x - x.mean(axis=-1, keepdims=True)


def _of_kinds(sources: tuple[SourceName, ...], kinds: Collection[SourceKind] | SourceKind | None) -> list[int]:
    chosen = (kinds,) if isinstance(kinds, str) else kinds
    return [i for i, source in enumerate(sources) if chosen is None or source.kind in chosen]
