"""The text on the stage, and what the stage shows of it at each zoom level.

Zoom levels are lanes, one per stack, of panels in the order of the forward pass; they have the names of the boxes of
the blueprint: "" is the overview, "decoder.0" a block, "decoder.0.cross_attn" one of its attentions, and
"decoder.0.cross_attn.2" one head of it.

Nothing here needs torch: the first view of a model is shown before torch is loaded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from headlight.analysis.blueprint.plan import blueprint_of
from headlight.analysis.trace.attentions import ATTENTIONS, Attention
from headlight.analysis.trace.dropout import rates_of
from headlight.analysis.trace.residual_stream import embedding_sites, stream_places, sublayers
from transformer_core.config import Architecture, ModelConfig
from transformer_core.errors import ConfigError

MOST_TOKENS = 32  # of a text that the stage has room for
MOST_WITH_BLANKS = 64  # of a text with blanks, which may be anywhere
USUAL_TOKENS = 24  # to which a decoder generates
LEAST_NEW_TOKENS = 8  # that a decoder-only model generates after a prompt, however long that is


@dataclass(frozen=True, kw_only=True)
class StageText:
    """A text that is being generated.

    A decoder has read `n_given` tokens and generates after them; step n is the prediction after n generated tokens. An
    encoder fills one blank after the other, and each fill changes all its activations: so it has one step at a time.
    """

    architecture: Architecture
    source: tuple[int, ...] = ()  # token ids that the encoder reads
    target: tuple[int, ...] = ()  # token ids that the decoder reads, generated ones included
    segments: tuple[int, ...] = ()  # of each source token, where an encoder reads two texts
    border: int | None = None  # in the source, the first token of the second text; None where there is one text
    source_labels: tuple[str, ...] = ()
    target_labels: tuple[str, ...] = ()
    n_given: int  # tokens of the last stack that were not generated: <bos>, the prompt, or the text with its blanks
    rows: tuple[int, ...] = ()  # of each step: the position of the last stack whose logits are the prediction
    next_tokens: tuple[int | None, ...] = ()  # of each step: the token that comes next; None: there is no room for it
    next_labels: tuple[str, ...] = ()
    n_filled: int = 0  # blanks that are filled
    has_ended: bool = False  # the last next token ends the text
    unknown: tuple[str, ...] = ()  # words that the model has no token for, each once
    ignores_white_space: bool = False  # the tokenizer ignores some white space of the text
    n_left_out: int = 0  # tokens of the text that were left out, for lack of room

    @property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """The token ids of each stack, or of two texts with their segments, as `final_states` takes them."""
        return tuple(side for side in (self.source, self.target, self.segments) if side)

    @property
    def tokens(self) -> dict[str, tuple[int, ...]]:
        """The token ids of each side that there is."""
        return {name: ids for name, ids in (("source", self.source), ("target", self.target)) if ids}

    @property
    def side_labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of the tokens of each side that there is."""
        labels = {"source": self.source_labels, "target": self.target_labels}
        return {name: labels[name] for name in self.tokens}

    def labels(self, attention: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of the queries and the keys of an attention."""
        kind = ATTENTIONS[attention]
        return self.side_labels[kind.queries_from], self.side_labels[kind.keys_from]


Level = Literal["overview", "block", "attention", "head"]
Shape = Literal["vectors", "heads", "head vectors"]
"""How an activation is laid out: [pos, d], [head, query, key], or [head, pos, d_head]."""

_ZOOM = re.compile(r"(encoder|decoder)\.(\d{1,4})(?:\.(self_attn|cross_attn)(?:\.(\d{1,4}))?)?")


@dataclass(frozen=True, kw_only=True)
class Zoom:
    """What the stage is zoomed in on."""

    stack: str = ""  # "encoder" or "decoder"; "": the whole model
    layer: int = 0
    part: str = ""  # "self_attn" or "cross_attn"; "": the whole block
    head: int | None = None

    def __str__(self) -> str:
        """Return the name, such as "decoder.0.cross_attn"."""
        if not self.stack:
            return ""
        parts = [self.stack, str(self.layer), self.part, "" if self.head is None else str(self.head)]
        return ".".join(filter(None, parts))

    @property
    def level(self) -> Level:
        """How far the stage is zoomed in."""
        if not self.stack:
            return "overview"
        return "block" if not self.part else "attention" if self.head is None else "head"

    @property
    def attention(self) -> str:
        """The name of the attention, as in `ATTENTIONS`."""
        return "cross" if self.part == "cross_attn" else self.stack

    @property
    def path(self) -> "tuple[Zoom, ...]":
        """The zoom levels from the overview down to this one."""
        levels = [Zoom()]
        if self.stack:
            levels.append(Zoom(stack=self.stack, layer=self.layer))
        if self.part:
            levels.append(Zoom(stack=self.stack, layer=self.layer, part=self.part))
        return (*levels, self) if self.head is not None else tuple(levels)

    @classmethod
    def of(cls, name: str, config: ModelConfig | None = None) -> "Zoom":
        """Return the zoom of this name.

        Raises:
            ConfigError: it is not such a name, or the model of this configuration has no such block, attention or head.
        """
        if not name:
            return cls()
        matched = _ZOOM.fullmatch(name)
        if not matched:
            raise ConfigError(
                "“{name}” is not a zoom level; write a block, attention or head such as decoder.0.cross_attn.2",
                name=name[:60],
            )
        stack, layer, part, head = matched.groups()
        zoom = cls(stack=stack, layer=int(layer), part=part or "", head=None if head is None else int(head))
        if config is not None:
            is_there = str(Zoom(stack=stack, layer=zoom.layer, part=zoom.part)) in blueprint_of(config).boxes
            if not is_there or (zoom.head is not None and zoom.head >= config.n_heads):
                raise ConfigError("this model has no {name}", name=name)
        return zoom


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One activation on the stage."""

    name: str  # of the quantity, such as "memory" or "attn_out"
    site: str  # the hook point
    shape: Shape = "vectors"
    rows: str  # the side whose tokens are its rows, "source" or "target"
    columns: str = ""  # of "heads": the side whose tokens are the keys
    group: str = ""  # the block that it lies in; "" outside of blocks
    opens: str = ""  # the zoom level that it leads to; of "heads" each head leads one level further
    is_stream: bool = False  # the value of the residual stream itself: sub-layers read it, and are added to it
    rate: float = 0.0  # of the dropout that the value is shown after, as in training; 0: the value itself

    @property
    def key(self) -> str:
        """Its name on the stage; unique within a zoom level."""
        return f"{self.site} dropout" if self.rate else self.site

    @property
    def mask(self) -> str:
        """The hook point of the mask of a pattern; "" where there is none."""
        return self.site.replace("hook_pattern", "hook_mask") if self.shape == "heads" else ""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """The panels of one stack, from left to right."""

    stack: str
    panels: tuple[Panel, ...]


def side_of(stack: str) -> str:
    """Return the side of the text that a stack reads."""
    return ATTENTIONS[stack].queries_from


def sites_of(lanes: tuple[Lane, ...]) -> tuple[str, ...]:
    """Return every hook point that the panels of some lanes show, and the masks of their patterns."""
    panels = [panel for lane in lanes for panel in lane.panels]
    return tuple(dict.fromkeys(site for panel in panels for site in (panel.site, panel.mask) if site))


def lanes_of(config: ModelConfig, zoom: Zoom, *, has_dropout: bool = False) -> tuple[Lane, ...]:
    """Return the panels of a model at a zoom level; none for a head, which has its own figure.

    Args:
        config: of the model.
        zoom: the zoom level.
        has_dropout: add what dropout would make of some activations in training, each after the activation itself.
    """
    match zoom.level:
        case "overview":
            panels = {stack: _overview(config, stack) for stack in blueprint_of(config).stacks}
        case "block":
            panels = {zoom.stack: _block(config, zoom)}
        case "attention":
            panels = {zoom.stack: _attention(zoom)}
        case _:
            panels = {}
    return tuple(
        Lane(stack=stack, panels=tuple(_with_dropout(of, config, zoom, has_dropout=has_dropout)))
        for stack, of in panels.items()
    )


def _with_dropout(panels: Iterator[Panel], config: ModelConfig, zoom: Zoom, *, has_dropout: bool) -> Iterator[Panel]:
    """Yield the panels, each followed by its value after dropout, where the zoom level shows this."""
    rates = rates_of(config)
    dropped = dict.fromkeys(("attn_out", "mlp_out"), rates.outputs)
    if zoom.level == "overview" and not config.d_embed:  # else their sum is projected after the dropout
        dropped |= dict.fromkeys(("sum", "norm"), rates.outputs)
    if zoom.level == "attention" and rates.pattern:
        dropped = {zoom.part: rates.pattern}
    for panel in panels:
        yield panel
        if has_dropout and (rate := dropped.get(panel.name)):
            yield replace(panel, name="dropout", rate=rate, opens="", is_stream=False)


def _overview(config: ModelConfig, stack: str) -> Iterator[Panel]:
    """Yield the panels of a whole stack; of the last one, the logits, too."""
    rows = side_of(stack)
    parts = embedding_sites(config, stack)
    has_sum = len(parts) > 1 or config.embedding_norm
    for kind, site in parts.items():
        yield Panel(name=kind, site=site, rows=rows, is_stream=not has_sum)
    if has_sum:
        name = "norm" if config.embedding_norm else "sum"
        yield Panel(name=name, site=f"{stack}.blocks.0.hook_resid_pre", rows=rows, is_stream=True)
    is_memory = stack == "encoder" and config.has_decoder
    has_final_norm = config.has_final_norm and config.norm != "none"
    n_layers = ATTENTIONS[stack].n_layers(config)
    ends = {place.name.split(".")[1]: place.read for place in stream_places(config, stack)[1:]}  # the last of a layer
    for layer in range(n_layers):
        block = str(Zoom(stack=stack, layer=layer))
        for sublayer in sublayers(config, stack):
            yield replace(_core_of(stack, layer, sublayer.name), group=block)
        is_last = layer == n_layers - 1 and is_memory and not has_final_norm
        name = "memory" if is_last else "output"
        yield Panel(name=name, site=ends[str(layer)], rows=rows, group=block, opens=block, is_stream=True)
    if has_final_norm:
        name = "memory" if is_memory else "final norm"
        yield Panel(name=name, site=f"{stack}.ln_final.hook_normalized", rows=rows)
    if config.unembed and not is_memory:
        yield Panel(name="logits", site="hook_logits", rows=rows)


def _core_of(stack: str, layer: int, part: str) -> Panel:
    """Return the characteristic picture of a sub-layer: the patterns of its heads, or its hidden units."""
    if part == "mlp":
        block = str(Zoom(stack=stack, layer=layer))
        site = f"{stack}.blocks.{layer}.mlp.hook_post"
        return Panel(name=part, site=site, rows=side_of(stack), opens=block)
    zoom = Zoom(stack=stack, layer=layer, part=part)
    return Panel(
        name=part,
        site=_kind(zoom).site(layer),
        shape="heads",
        rows=_kind(zoom).queries_from,
        columns=_kind(zoom).keys_from,
        opens=str(zoom),
    )


def _kind(zoom: Zoom) -> Attention:
    return ATTENTIONS[zoom.attention]


def _block(config: ModelConfig, zoom: Zoom) -> Iterator[Panel]:
    """Yield the panels of a block: its input, then for each sub-layer the norm, core, output, and new stream."""
    stack, layer = zoom.stack, zoom.layer
    rows, block = side_of(stack), f"{stack}.blocks.{layer}"
    is_pre = config.norm_position == "pre"
    yield Panel(name="input", site=f"{block}.hook_resid_pre", rows=rows, is_stream=True)
    for sublayer in sublayers(config, stack):
        norm = Panel(name="norm", site=f"{block}.{sublayer.norm}.hook_normalized", rows=rows, is_stream=not is_pre)
        has_norm = config.normalizes(layer, sublayer.norm)
        if has_norm and is_pre:
            yield norm
        yield _core_of(stack, layer, sublayer.name)
        yield Panel(name=sublayer.adds.rpartition("hook_")[2], site=f"{block}.{sublayer.adds}", rows=rows)
        yield Panel(name="add", site=f"{block}.{sublayer.sum}", rows=rows, is_stream=True)
        if has_norm and not is_pre:
            yield norm


def _attention(zoom: Zoom) -> Iterator[Panel]:
    """Yield the panels of an attention: queries, keys and values of all heads, their patterns, z, and the output."""
    kind, layer = _kind(zoom), zoom.layer
    for name, side in (("q", kind.queries_from), ("k", kind.keys_from), ("v", kind.keys_from)):
        yield Panel(name=name, site=kind.site(layer, f"hook_{name}"), shape="head vectors", rows=side)
    yield _core_of(zoom.stack, layer, zoom.part)
    yield Panel(name="z", site=kind.site(layer, "hook_z"), shape="head vectors", rows=kind.queries_from)
    yield Panel(name="attn_out", site=kind.site(layer, "hook_attn_out"), rows=kind.queries_from)
