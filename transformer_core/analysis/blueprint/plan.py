"""The plan of a model: the boxes that figure 1 of the paper would have, and the arrows between them.

A box has a name that is short and stable, for addresses: "encoder.embed", "decoder.0.cross_attn", "unembed". Whatever
the configuration leaves out is not on the plan, and each normalization stands where it is computed: after the sum as
in the paper ("add & norm"), or before its sub-layer (Xiong et al. 2020).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from transformer_core.config import ModelConfig

Kind = Literal[
    "embedding",
    "positions",  # added to the embeddings, or acting inside attention
    "segments",
    "sum",  # of the embeddings
    "layer",  # a whole block, which the boxes of its sub-layers lie in
    "attention",
    "norm",
    "add",
    "add_norm",
    "feed_forward",
    "transform",
    "linear",
    "softmax",
]
Flow = Literal["stream", "residual", "query", "key", "value", "inside"]
"""What an arrow carries: the stream itself, the stream around a sub-layer, what becomes queries, keys and values, or
what acts inside attention without being a vector of the stream."""

STACKS = ("encoder", "decoder")


@dataclass(frozen=True, kw_only=True)
class Box:
    """One thing on the plan."""

    name: str
    kind: Kind
    stack: str = ""  # "encoder", "decoder"; "" after the last stack
    layer: int | None = None
    module: str = ""  # its path in the model; "" where no module of its own computes it
    part: str = ""  # the last part of the name: "cross_attn"


@dataclass(frozen=True, kw_only=True)
class Arrow:
    """What one box hands to another."""

    start: str  # name of a box
    end: str
    flow: Flow


@dataclass(frozen=True, kw_only=True)
class Blueprint:
    """All boxes and arrows of a model."""

    config: ModelConfig
    boxes: Mapping[str, Box]  # in the order of the forward pass
    arrows: tuple[Arrow, ...]

    def layers(self, stack: str) -> int:
        """Return how many layers a stack has; 0 where it is not there."""
        return self.config.n_encoder_layers if stack == "encoder" else self.config.n_decoder_layers

    @property
    def stacks(self) -> tuple[str, ...]:
        """The stacks that are there."""
        return tuple(stack for stack in STACKS if self.layers(stack))

    def first_to_look_at(self) -> str:
        """Return the box to look at first: the attention that says most, in the last layer."""
        attention = "cross_attn" if self.config.architecture == "encoder_decoder" else "self_attn"
        stack = self.stacks[-1]
        return f"{stack}.{self.layers(stack) - 1}.{attention}"


@lru_cache(maxsize=64)
def blueprint_of(config: ModelConfig) -> Blueprint:
    """Return the plan of a model; no weights are needed."""
    plan = _Plan(config)
    memory = plan.stack("encoder") if config.has_encoder else ""
    last = plan.stack("decoder", memory) if config.has_decoder else memory
    if config.unembed_transform:
        last = plan.then(last, Box(name="unembed_transform", kind="transform", module="unembed_transform"))
    if config.unembed:
        last = plan.then(last, Box(name="unembed", kind="linear", module="unembed"))
        plan.then(last, Box(name="softmax", kind="softmax"))
    return Blueprint(config=config, boxes=plan.boxes, arrows=tuple(plan.arrows))


class _Plan:
    """A plan in the making."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.boxes: dict[str, Box] = {}
        self.arrows: list[Arrow] = []

    def put(self, box: Box) -> str:
        """Put a box on the plan; return its name."""
        self.boxes[box.name] = box
        return box.name

    def join(self, start: str, end: str, *flows: Flow) -> None:
        """Draw arrows from one box to another."""
        self.arrows += [Arrow(start=start, end=end, flow=flow) for flow in flows]

    def then(self, before: str, box: Box) -> str:
        """Put a box after another; return its name."""
        self.put(box)
        self.join(before, box.name, "stream")
        return box.name

    def stack(self, stack: str, memory: str = "") -> str:
        """Put a stack on the plan; return the box that its final states come from."""
        config = self.config
        x = self.embedded(stack)
        n_layers = config.n_encoder_layers if stack == "encoder" else config.n_decoder_layers
        for layer in range(n_layers):
            x = self.layer(stack, layer, x, memory)
        if config.has_final_norm:
            x = self.then(x, Box(name=f"{stack}.ln_final", kind="norm", stack=stack, **_at(f"{stack}.ln_final")))
        return x

    def embedded(self, stack: str) -> str:
        """Put what a stack begins with on the plan; return the box that its first layer reads from."""
        config = self.config
        x = self.put(Box(name=f"{stack}.embed", kind="embedding", stack=stack, **_at(f"{stack}.embed")))
        added: list[tuple[str, Kind]] = [("pos_embed", "positions")] if has_added_positions(config) else []
        added += [("segment_embed", "segments")] if config.n_segments else []
        if added:
            total = self.then(x, Box(name=f"{stack}.sum", kind="sum", stack=stack, part="sum"))
            for part, kind in added:
                name = f"{stack}.{part}"
                self.put(Box(name=name, kind=kind, stack=stack, **_at(name)))
                self.join(name, total, "stream")
            x = total
        if config.embedding_norm:
            name = f"{stack}.embedding_norm"
            x = self.then(x, Box(name=name, kind="norm", stack=stack, **_at(name)))
        if part := positions_inside(config):
            module = f"{stack}.{part}" if part == "position_bias" else ""
            self.put(Box(name=f"{stack}.{part}", kind="positions", stack=stack, module=module, part=part))
        return x

    def layer(self, stack: str, layer: int, x: str, memory: str) -> str:
        """Put a layer on the plan; return its last box."""
        self.put(Box(name=f"{stack}.{layer}", kind="layer", stack=stack, layer=layer, module=f"{stack}.blocks.{layer}"))
        begins = x
        for attention, norm, add in (("self_attn", "ln1", "add1"), ("cross_attn", "ln_cross", "add_cross")):
            if attention == "self_attn" or memory:
                source = memory if attention == "cross_attn" else ""
                x = self.sublayer(stack, layer, x, (attention, norm, add), source)
        if self.config.d_ff:
            reads = begins if self.config.parallel_residual else x
            x = self.sublayer(stack, layer, x, ("mlp", "ln2", "add2"), reads=reads)
        return x

    def sublayer(
        self, stack: str, layer: int, x: str, parts: tuple[str, str, str], memory: str = "", *, reads: str = ""
    ) -> str:
        """Put a sub-layer with its residual connection on the plan; return what its sum comes out of.

        Args:
            stack: the name of the stack.
            layer: the number of the layer.
            x: the box of the stream that the sub-layer adds to.
            parts: the sub-layer, its normalization and its sum.
            memory: the box of the encoder's output, for cross-attention.
            reads: the box that the sub-layer reads; "": the one that it adds to.
        """
        is_pre_norm = self.config.norm_position == "pre"
        kind: Kind = "feed_forward" if parts[0] == "mlp" else "attention"
        sublayer, norm, add = (self._inside(stack, layer, part) for part in parts)
        reads = reads or x
        if is_pre_norm:
            self.put(Box(kind="norm", **norm))
            self.join(reads, norm["name"], "stream" if reads == x else "residual")
            reads = norm["name"]
        self.put(Box(kind=kind, **sublayer))
        name = sublayer["name"]
        if kind == "feed_forward":
            self.join(reads, name, "stream")
        else:
            self.join(memory or reads, name, "key", "value")
            self.join(reads, name, "query")
            if parts[0] == "self_attn" and (part := positions_inside(self.config)):
                self.join(f"{stack}.{part}", name, "inside")
        end = (
            self.put(Box(kind="add", **add | {"module": ""})) if is_pre_norm else self.put(Box(kind="add_norm", **norm))
        )
        self.join(x, end, "residual")
        self.join(name, end, "stream")
        return end

    def _inside(self, stack: str, layer: int, part: str) -> dict[str, Any]:
        """Return what is said of a box within a layer."""
        name, module = f"{stack}.{layer}.{part}", f"{stack}.blocks.{layer}.{part}"
        return {"name": name, "stack": stack, "layer": layer, "module": module, "part": part}


def has_added_positions(config: ModelConfig) -> bool:
    """Whether positions are vectors that are added to the embeddings."""
    return config.positions == "learned" or config.positions.startswith("sinusoidal")


def is_normalized(config: ModelConfig, box: Box) -> bool:
    """Whether a normalization's box changes anything: the model, or what its first attention reads, may have none."""
    return config.norm != "none" and (config.first_norm or (box.layer, box.part) != (0, "ln1"))


def positions_inside(config: ModelConfig) -> str:
    """Return the part of a stack that tells attention of positions from within; "" where none does."""
    if config.has_rotary_positions:
        return "rotary"
    return "position_bias" if config.positions in ("alibi", "relative_buckets") else ""


def _at(module: str) -> dict[str, Any]:
    return {"module": module, "part": module.rpartition(".")[2]}
