"""The labels and tips of the blocks of the drawing, in the reader's language."""

from collections.abc import Sequence

from headlight.analysis.blueprint.plan import Box
from headlight.analysis.blueprint.shapes import in_numbers, sizes, stages
from headlight.analysis.blueprint.weights import weights_of
from headlight.analysis.trace.residual_stream import has_added_positions
from pages.learn.architecture.components.drawing import BoxLabel
from pages.learn.architecture.words import does, title
from pages.shared import prose
from transformer_core.config import ModelConfig
from transformer_core.errors import mark
from transformer_core.language import localized, say, say_number

ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU"}
STACKS = {"encoder": mark("encoder"), "decoder": mark("decoder")}
ENDS = {"self_attn": mark("self-attention"), "cross_attn": mark("cross-attention"), "mlp": mark("feed-forward")}


def on_drawing(config: ModelConfig, box: Box, lengths: dict[str, int]) -> BoxLabel:
    """Return the label of a block.

    Args:
        config: of the model.
        box: the block.
        lengths: tokens that each stack reads, by its name.
    """
    return BoxLabel(title=say(title(config, box)), sub=_sub(config, box), tip=_tip(config, box, lengths))


def name_of(config: ModelConfig, box: Box) -> str:
    """Return a block's name and position, for a heading."""
    name = say(title(config, box))
    if box.kind == "layer" and config.architecture != "encoder_decoder":
        return say("Layer {layer}", layer=box.layer)
    if box.kind == "layer":
        return say("Layer {layer} of the {stack}", layer=box.layer, stack=say(STACKS[box.stack]))
    is_alone = config.architecture != "encoder_decoder" or not box.stack
    if box.layer is not None and is_alone:
        return say("{name}, layer {layer}", name=name, layer=box.layer)
    if box.layer is not None:
        return say("{name}, {stack}, layer {layer}", name=name, stack=say(STACKS[box.stack]), layer=box.layer)
    return name if is_alone else say("{name}, {stack}", name=name, stack=say(STACKS[box.stack]))


def place_in_words(name: str) -> str:
    """Return the name of a place of the stream, such as "0 self-attention", by the name of its box."""
    parts = name.split(".")
    if len(parts) == 2:
        return say("embedding")
    return f"{parts[1]} {say(ENDS[parts[2]])}"


def parameters_in_words(config: ModelConfig, box: Box) -> str:
    """Return how many parameters a block has, and whether it shares some."""
    weights = weights_of(config)[box.name]
    n = sum(weight.n_parameters for weight in weights)
    shared = sum(weight.n_numbers for weight in weights if weight.shared_with)
    if shared and not n:
        return say("shares {n} parameters", n=localized(shared))
    return say_number(n, "{n} parameter", "{count} parameters", count=localized(n)) if n else say("no parameters")


def shape_in_words(sizes_of: Sequence[int]) -> str:
    """Return a shape without the axis of the batch."""
    return " × ".join(localized(size) for size in sizes_of)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, kind: str) -> None:
    """Draw a table; `kind`: its class."""
    lines = prose.each("<tr>{}</tr>", (prose.each("<td>{}</td>", row) for row in rows))
    prose.html("{}", prose.table(head, lines, f"hl-arch-table {kind}"))


def _sub(config: ModelConfig, box: Box) -> str:
    """Return the small line on a block."""
    match box.kind:
        case "embedding":
            return f"{localized(config.vocab_size)} × {localized(config.d_model)}"
        case "positions" if config.positions == "learned":
            return f"{localized(config.max_seq_len)} × {localized(config.d_model)}"
        case "positions" if has_added_positions(config):
            return "sin, cos"
        case "positions" if config.has_rotary_positions:
            return say("apply RoPE")
        case "positions":
            return say("added to scores")
        case "segments":
            return f"{config.n_segments} × {localized(config.d_model)}"
        case "attention":
            heads = say_number(config.n_heads, "{n} head of {width}", "{n} heads of {width}", width=config.d_head)
            n_shared = config.n_kv_heads
            return heads if n_shared == config.n_heads else say("{heads}, {n} of K and V", heads=heads, n=n_shared)
        case "feed_forward":
            widths = " → ".join(map(localized, (config.d_model, config.d_ff, config.d_model)))
            return f"{widths}, {ACTIVATIONS[config.activation]}"
        case "linear":
            return f"{localized(config.d_model)} → {localized(config.vocab_size)}"
    return ""


def _tip(config: ModelConfig, box: Box, lengths: dict[str, int]) -> list[str]:
    """Return the tip of a block."""
    result = stages(config, box)
    numbers = sizes(config, box, batch=1, lengths=lengths)
    first, last = (shape_in_words(in_numbers(stage.axes[1:], numbers)) for stage in (result[0], result[-1]))
    lines = [say(does(config, box))]
    if box.kind == "positions" and result[-1].axes[0] != "batch":
        return lines
    lines.append(first if first == last else f"{first} → {last}")
    return [*lines, *_mask_in_words(config, box), parameters_in_words(config, box)]


def _mask_in_words(config: ModelConfig, box: Box) -> list[str]:
    """Return the keys that an attention must not see."""
    if box.kind != "attention":
        return []
    is_cross, window = box.part == "cross_attn", config.at_layer(box.layer or 0).sliding_window
    reasons = [
        *([say("later tokens")] if box.stack == "decoder" and not is_cross else []),
        *([say("padding")] if config.pad_id is not None else []),
        *([say("tokens more than {n} positions away", n=window)] if window and not is_cross else []),
    ]
    return [say("masked: {what}", what=", ".join(reasons))] if reasons else [say("no mask")]
