"""The plan of a model: the boxes that figure 1 of the paper would have, the arrows between them, and their weights.

A box has a name that is short and stable, for addresses: "encoder.embed", "decoder.0.cross_attn", "unembed". Parts
that the configuration leaves out are not on the plan. Each normalization is where it is computed: after the sum as in
the paper ("add & norm"), or before its sub-layer (Xiong et al. 2020). A matrix shared by two boxes appears at both and
counts at the first.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.residual_stream import Sublayer, has_added_positions, sublayers
from transformer_core.config import ModelConfig

BoxKind = Literal[
    "embedding",
    "positions",  # added to the embeddings, or acting inside attention
    "segments",
    "sum",  # of the embeddings
    "projection",  # of the embeddings to the width of the stream
    "layer",  # a whole block, which contains the boxes of its sub-layers
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
"""What an arrow carries: the stream itself, the stream around a sub-layer, the input of queries, keys or values, or
positions that act inside attention."""

STACKS = ("encoder", "decoder")


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box on the plan."""

    name: str
    kind: BoxKind

    @property
    def stack(self) -> str:
        """The stack that it belongs to, "encoder" or "decoder"; "" after the last stack."""
        return self.name.partition(".")[0] if "." in self.name else ""

    @property
    def layer(self) -> int | None:
        """The layer that it is or belongs to."""
        second = self.name.split(".")[1:2]
        return int(second[0]) if second and second[0].isdecimal() else None

    @property
    def part(self) -> str:
        """The last part of the name, such as "cross_attn"; "" for a layer, and after the last stack."""
        return self.name.rpartition(".")[2] if self.stack and self.kind != "layer" else ""

    @property
    def module(self) -> str:
        """Its path in the model; "" if no separate module computes it."""
        if self.kind in ("sum", "add", "softmax") or self.part == "rotary":
            return ""
        return self.name if self.layer is None else self.name.replace(".", ".blocks.", 1)


@dataclass(frozen=True, kw_only=True)
class Arrow:
    """A connection from one box to another."""

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
        """Return the number of layers of a stack; 0 if the model lacks it."""
        return ATTENTIONS[stack].n_layers(self.config)

    @property
    def stacks(self) -> tuple[str, ...]:
        """The stacks that the model has."""
        return tuple(stack for stack in STACKS if self.layers(stack))

    def first_to_look_at(self) -> str:
        """Return the box to show first: an attention of the last layer, cross-attention in an encoder-decoder."""
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
        last = plan.put("transform", "unembed_transform", (last, "stream"))
    if config.unembed:
        last = plan.put("linear", "unembed", (last, "stream"))
        plan.put("softmax", "softmax", (last, "stream"))
    return Blueprint(config=config, boxes=plan.boxes, arrows=tuple(plan.arrows))


class _Plan:
    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.boxes: dict[str, Box] = {}
        self.arrows: list[Arrow] = []

    def put(self, kind: BoxKind, name: str, *arrows: tuple[str, Flow]) -> str:
        """Put a box on the plan, with its incoming arrows by their start; return the box's name."""
        self.boxes[name] = Box(name=name, kind=kind)
        self.arrows += [Arrow(start=start, end=name, flow=flow) for start, flow in arrows]
        return name

    def stack(self, stack: str, memory: str = "") -> str:
        """Put a stack on the plan; return the box that gives its final states."""
        config = self.config
        x = self.embedded(stack)
        for layer in range(ATTENTIONS[stack].n_layers(config)):
            begins, block = x, self.put("layer", f"{stack}.{layer}")
            for sublayer in sublayers(config, stack):
                is_parallel = sublayer.name == "mlp" and config.parallel_residual
                x = self.sublayer(block, sublayer, x, reads=begins if is_parallel else x, memory=memory)
        return self.put("norm", f"{stack}.ln_final", (x, "stream")) if config.has_final_norm else x

    def embedded(self, stack: str) -> str:
        """Put a stack's embeddings on the plan; return the box that its first layer reads from."""
        config = self.config
        x = self.put("embedding", f"{stack}.embed")
        added: dict[str, BoxKind] = {f"{stack}.pos_embed": "positions"} if has_added_positions(config) else {}
        if config.n_segments:
            added[f"{stack}.segment_embed"] = "segments"
        if added:
            x = self.put("sum", f"{stack}.sum", *((name, "stream") for name in (x, *added)))
        for name, kind in added.items():
            self.put(kind, name)
        if config.embedding_norm:
            x = self.put("norm", f"{stack}.embedding_norm", (x, "stream"))
        if config.d_embed:
            x = self.put("projection", f"{stack}.embedding_projection", (x, "stream"))
        if part := _positions_inside(config):
            self.put("positions", f"{stack}.{part}")
        return x

    def sublayer(self, block: str, sublayer: Sublayer, x: str, *, reads: str, memory: str) -> str:
        """Add a sub-layer with its residual connection to the plan; return the box of its sum.

        Args:
            block: the box of the layer.
            sublayer: of that layer.
            x: the box of the stream that the sub-layer adds to.
            reads: the box that the sub-layer reads.
            memory: the box of the encoder's output, which cross-attention reads, too.
        """
        is_pre_norm = self.config.norm_position == "pre"
        name, norm = f"{block}.{sublayer.name}", f"{block}.{sublayer.norm}"
        if is_pre_norm and self.config.input_norm:
            reads = self.put("norm", norm, (reads, "stream" if reads == x else "residual"))
        if sublayer.name == "mlp":
            self.put("feed_forward", name, (reads, "stream"))
        elif sublayer.name == "cross_attn":
            self.put("attention", name, (memory, "key"), (memory, "value"), (reads, "query"))
        else:
            self.put("attention", name, (reads, "key"), (reads, "value"), (reads, "query"))
            if part := _positions_inside(self.config.at_layer(self.boxes[block].layer or 0)):
                self.arrows.append(Arrow(start=f"{block.partition('.')[0]}.{part}", end=name, flow="inside"))
        if self.config.output_norm:
            name = self.put("norm", f"{name}.out_norm", (name, "stream"))
        end: tuple[BoxKind, str] = ("add", norm.replace(".ln", ".add")) if is_pre_norm else ("add_norm", norm)
        return self.put(*end, (x, "residual"), (name, "stream"))


def is_normalized(config: ModelConfig, box: Box) -> bool:
    """Whether a normalization's box changes anything: the model, or what its first attention reads, may have none."""
    return config.norm != "none" and (config.first_norm or (box.layer, box.part) != (0, "ln1"))


def encoding_of(config: ModelConfig, box: Box) -> str:
    """Return the encoding of a box of positions; a model may have a position bias besides others."""
    return "relative_buckets" if box.part == "position_bias" and config.relative_bias else config.positions


def _positions_inside(config: ModelConfig) -> str:
    """Return the part of a stack that gives attention its positions from within; "" if there is none."""
    if config.has_rotary_positions:
        return "rotary"
    return "position_bias" if config.has_position_bias else ""


_PROJECTIONS = {"q": "Q", "k": "K", "v": "V", "out": "O", "up": "1", "gate": "gate", "down": "2"}
_SYMBOLS = {  # by the last words of a parameter's name
    f"{module}.{kind}": f"{letter}_{index}"
    for module, index in _PROJECTIONS.items()
    for kind, letter in (("weight", "W"), ("bias", "b"))
}


@dataclass(frozen=True, kw_only=True)
class Weight:
    """A matrix or a vector that training changes."""

    name: str  # in the model, such as "decoder.blocks.0.self_attn.q.weight"
    symbol: str  # its symbol in papers, "W_Q"; "" if there is no convention
    shape: tuple[int, ...]
    shared_with: str = ""  # the first name of a shared matrix, where it is counted

    @property
    def n_numbers(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def n_parameters(self) -> int:
        """The number of parameters that it adds; 0 if it is shared with an earlier weight."""
        return 0 if self.shared_with else self.n_numbers


@lru_cache(maxsize=16)
def weights_of(config: ModelConfig) -> Mapping[str, tuple[Weight, ...]]:
    """Return the weights of each box, by its name; a layer has all weights of its sub-layers.

    Args:
        config: of the model; its modules are built without allocating memory for weights.
    """
    from transformer_core.model.transformer import assemble

    plan = blueprint_of(config)
    by_box: dict[str, list[Weight]] = {name: [] for name in plan.boxes}
    first: dict[int, str] = {}
    for name, parameter in assemble(config).named_parameters(remove_duplicate=False):
        earlier = first.setdefault(id(parameter), name)
        weight = Weight(
            name=name,
            symbol=_SYMBOLS.get(".".join(name.split(".")[-2:]), ""),
            shape=tuple(parameter.shape),
            shared_with="" if earlier == name else earlier,
        )
        owners = [box for box in plan.boxes.values() if box.module and name.startswith(f"{box.module}.")]
        innermost = max(owners, key=lambda box: len(box.module), default=None)
        for box in owners:  # its own, and the layer around it
            if box is innermost or box.kind == "layer":
                by_box[box.name].append(weight)
    return {name: tuple(weights) for name, weights in by_box.items()}


def all_weights(config: ModelConfig) -> list[Weight]:
    """Return the weights of a model, each once, in the order of the forward pass."""
    weights = weights_of(config)
    boxes = blueprint_of(config).boxes.values()
    return [weight for box in boxes if box.kind != "layer" for weight in weights[box.name]]


def n_parameters(config: ModelConfig) -> int:
    """Return the number of parameters of a model, each shared matrix counted once."""
    return sum(weight.n_parameters for weight in all_weights(config))
