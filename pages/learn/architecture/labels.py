"""The titles, tooltips, labels and sources of the blocks of the drawing, in the reader's language."""

from collections.abc import Sequence

from headlight.analysis.blueprint.plan import Box, encoding_of, is_normalized, weights_of
from headlight.analysis.blueprint.shapes import in_numbers, sizes, stages
from headlight.language import localized, say, say_number
from pages.learn.architecture.components.drawing import BoxLabel
from pages.shared import prose
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU", "squared_relu": "ReLU²"}
STACKS = {"encoder": mark("encoder"), "decoder": mark("decoder")}
ENDS = {"self_attn": mark("self-attention"), "cross_attn": mark("cross-attention"), "mlp": mark("feed-forward")}
_TITLES = {
    "segments": mark("Segment embedding"),
    "sum": mark("Sum"),
    "projection": mark("Projection"),
    "layer": mark("Layer"),
    "add": mark("Add"),
    "add_norm": mark("Add & norm"),
    "feed_forward": mark("Feed forward"),
    "transform": mark("Transform"),
    "linear": mark("Linear"),
    "softmax": mark("Softmax"),
}
_EMBEDDINGS = {"encoder": mark("Input embedding"), "decoder": mark("Output embedding"), "": mark("Token embedding")}
_NORMS = {"layer": mark("Layer norm"), "layer_without_bias": mark("Layer norm"), "rms": mark("RMS norm")}
_NO_NORM = mark("No normalization")
_DOES = {
    "embedding": mark("Looks up each token’s embedding vector, one row of the matrix."),
    "segments": mark("Adds a vector that encodes which sentence a token belongs to."),
    "sum": mark("Adds token embedding and positional encoding. The sum is the start of the residual stream."),
    "projection": mark("Projects the embeddings to the width of the residual stream, whose start they become."),
    "layer": mark("Its sub-layers read the residual stream in turn, and each adds its output to it."),
    "norm": mark("Normalizes each vector before the sub-layer reads it; the residual stream itself is unchanged."),
    "add": mark("Adds the sub-layer’s output to the residual stream."),
    "add_norm": mark("Adds the sub-layer’s output to the residual and normalizes the sum."),
    "feed_forward": mark(
        "Two linear layers with an activation function in between, applied at each position "
        "separately: no information moves between tokens."
    ),
    "transform": mark("One more linear layer and a layer norm before the unembedding."),
    "linear": mark("Computes the logits: the dot product of each final state with one vector per vocabulary token."),
    "softmax": mark("Turns the logits into probabilities; each row sums to 1."),
}
_ATTENDS = {
    "encoder": mark("Each token attends to all tokens of its text and combines their values, weighted by the pattern."),
    "decoder": mark("Each token attends to itself and earlier tokens; later tokens are masked."),
    "cross": mark(
        "The decoder attends to the source: queries come from the decoder, keys and values from the encoder's output."
    ),
}
_PLACES = {
    "pos_embed": mark("Adds a vector that encodes the position to each token's vector."),
    "rotary": mark(
        "Rotates queries and keys by an angle proportional to the position, so that scores depend on the distance."
    ),
    "position_bias": mark("Adds a bias to each score that depends only on the distance between query and key."),
}
_VASWANI = "Vaswani et al. 2017, §\u00a0"
_SECTIONS = {
    "embedding": "3.4",
    "sum": "3.5",
    "layer": "3.1",
    "norm": "3.1",
    "add": "3.1",
    "add_norm": "3.1",
    "feed_forward": "3.3, (2)",
    "linear": "3.4",
    "softmax": "3.4",
}
_SINUSOIDAL = (mark("Positional encoding"), f"{_VASWANI}3.5")
_ROTARY = (mark("Rotary positions"), "Su et al. 2021, §\u00a03.2")
_POSITIONS = {  # title and source
    "sinusoidal_interleaved": _SINUSOIDAL,
    "sinusoidal_halves": _SINUSOIDAL,
    "learned": (mark("Learned positions"), f"{_VASWANI}3.5; Gehring et al. 2017"),
    "rotary_halves": _ROTARY,
    "rotary_interleaved": _ROTARY,
    "alibi": (mark("ALiBi"), "Press et al. 2022, §\u00a03"),
    "relative_buckets": (mark("Relative positions"), "Raffel et al. 2020, §\u00a02.1"),
}


def on_drawing(config: ModelConfig, box: Box, lengths: dict[str, int]) -> BoxLabel:
    """Return the label of a block.

    Args:
        config: of the model.
        box: the block.
        lengths: number of tokens that each stack reads, by name of the stack.
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
    """Return the name of a place in the stream, such as "0 self-attention", from the name of its box."""
    parts = name.split(".")
    if len(parts) == 2:
        return say("embedding")
    return f"{parts[1]} {say(ENDS[parts[2]])}"


def parameters_in_words(config: ModelConfig, box: Box) -> str:
    """Return the number of parameters of a block in words; if all are shared, say that it shares them."""
    weights = weights_of(config)[box.name]
    n = sum(weight.n_parameters for weight in weights)
    shared = sum(weight.n_numbers for weight in weights if weight.shared_with)
    if shared and not n:
        return say("shares {n} parameters", n=localized(shared))
    return say_number(n, "{n} parameter", "{count} parameters", count=localized(n)) if n else say("no parameters")


def shape_in_words(sizes_of: Sequence[int]) -> str:
    """Return the sizes of a shape, joined by "×"."""
    return " × ".join(localized(size) for size in sizes_of)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, kind: str) -> None:
    """Draw a table; `kind`: its CSS class."""
    lines = prose.each("<tr>{}</tr>", (prose.each("<td>{}</td>", row) for row in rows))
    prose.html("{}", prose.table(head, lines, f"hl-arch-table {kind}"))


def _sub(config: ModelConfig, box: Box) -> str:
    match box.kind:
        case "embedding":
            n_tokens = config.input_vocab_size if box.stack == "encoder" else config.vocab_size
            return f"{localized(n_tokens)} × {localized(config.embedding_width)}"
        case "positions" if box.part == "rotary":
            return say("apply RoPE")
        case "positions" if box.part == "position_bias":
            return say("added to scores")
        case "positions" if config.positions == "learned":
            return f"{localized(config.max_seq_len)} × {localized(config.embedding_width)}"
        case "positions":
            return "sin, cos"
        case "segments":
            return f"{config.n_segments} × {localized(config.embedding_width)}"
        case "projection":
            return f"{localized(config.d_embed)} → {localized(config.d_model)}"
        case "attention":
            heads = say_number(config.n_heads, "{n} head of {width}", "{n} heads of {width}", width=config.d_head)
            n_shared = config.n_kv_heads
            return heads if n_shared == config.n_heads else say("{heads}, {n} of K and V", heads=heads, n=n_shared)
        case "feed_forward":
            widths = " → ".join(map(localized, (config.d_model, config.d_ff, config.d_model)))
            return f"{widths}, {ACTIVATIONS[config.activation]}"
        case "linear":
            widths = f"{localized(config.embedding_width)} → {localized(config.vocab_size)}"
            cap = config.logit_cap
            return widths if cap is None else say("{widths}, soft cap {cap}", widths=widths, cap=localized(cap))
    return ""


def _tip(config: ModelConfig, box: Box, lengths: dict[str, int]) -> list[str]:
    result = stages(config, box)
    numbers = sizes(config, box, batch=1, lengths=lengths)
    first, last = (shape_in_words(in_numbers(stage.axes[1:], numbers)) for stage in (result[0], result[-1]))
    lines = [say(does(config, box))]
    if box.kind == "positions" and result[-1].axes[0] != "batch":
        return lines
    lines.append(first if first == last else f"{first} → {last}")
    return [*lines, *_mask_in_words(config, box), parameters_in_words(config, box)]


def _mask_in_words(config: ModelConfig, box: Box) -> list[str]:
    """Return a phrase that names the masked keys of an attention; nothing for other boxes."""
    if box.kind != "attention":
        return []
    is_cross, window = box.part == "cross_attn", config.at_layer(box.layer or 0).sliding_window
    reasons = [
        *([say("later tokens")] if box.stack == "decoder" and not is_cross else []),
        *([say("padding")] if config.pad_id is not None else []),
        *([say("tokens {n} or more positions away", n=window)] if window and not is_cross else []),
    ]
    return [say("masked: {what}", what=", ".join(reasons))] if reasons else [say("no mask")]


def title(config: ModelConfig, box: Box) -> str:
    """Return the name of a box."""
    match box.kind:
        case "embedding":
            return _EMBEDDINGS[box.stack if config.architecture == "encoder_decoder" else ""]
        case "positions":
            return _POSITIONS[encoding_of(config, box)][0]
        case "norm":
            return _NORMS.get(config.norm, _NO_NORM) if is_normalized(config, box) else _NO_NORM
        case "attention":
            if box.part == "cross_attn":
                return mark("Multi-head cross-attention")
            return mark("Masked multi-head attention") if box.stack == "decoder" else mark("Multi-head attention")
        case "feed_forward" if config.gated:
            return mark("Gated feed forward")
    return _TITLES[box.kind]


def does(config: ModelConfig, box: Box) -> str:
    """Return a sentence on the function of a box."""
    if box.kind == "attention":
        return _ATTENDS["cross" if box.part == "cross_attn" else box.stack]
    if box.kind == "positions":
        return _PLACES[box.part]
    if box.kind == "norm" and config.norm == "none":
        return mark("This model has no normalization: the sub-layer reads the residual stream directly.")
    if box.part == "out_norm":
        return mark("Normalizes the sub-layer’s output before it is added to the residual stream.")
    if box.part == "ln_final":
        return mark("Normalizes the final states before the unembedding.")
    if box.kind == "norm" and not is_normalized(config, box):
        return mark("The embeddings are already normalized, so the first attention uses them directly.")
    return mark("Normalizes the sum of the embeddings.") if box.part == "embedding_norm" else _DOES[box.kind]


def sources(config: ModelConfig, box: Box) -> tuple[str, ...]:
    """Return the sources of a box: the section of the paper, and other papers that the model follows."""
    if box.kind == "norm" and config.norm == "none":
        return ("Elhage et al. 2021",)
    result = [f"{_VASWANI}{_SECTIONS[box.kind]}"] if box.kind in _SECTIONS else []
    match box.kind:
        case "positions":
            result = [_POSITIONS[encoding_of(config, box)][1]]
        case "segments":
            result = ["Devlin et al. 2019, fig.\u00a02"]
        case "projection":
            result = ["Lan et al. 2020, §\u00a03.1"]
        case "transform":
            result = ["Devlin et al. 2019"]
        case "attention":
            result = [f"{_VASWANI}3.2.2, 3.2.3"]
            result += ["Ainslie et al. 2023"] if config.n_kv_heads < config.n_heads else []
            result += ["Henry et al. 2020"] if config.qk_norm else []
            result += ["Gemma Team 2024, §\u00a02"] if config.score_cap is not None else []
            has_window = config.at_layer(box.layer or 0).sliding_window and box.part == "self_attn"
            result += ["Beltagy et al. 2020"] if has_window else []
        case "feed_forward":
            result += ["Shazeer 2020, (6)"] if config.gated else []
            result += ["So et al. 2021"] if config.activation == "squared_relu" else []
        case "linear" if config.logit_cap is not None:
            result += ["Bello et al. 2016, app.\u00a0A.2"]
        case "norm" if config.norm == "rms":
            result += ["Zhang and Sennrich 2019, (4)"]
        case "norm" | "add_norm":
            result += ["Ba et al. 2016, (3)"]
    if box.part == "out_norm":
        return (*result[1:], "OLMo et al. 2025, §\u00a02.1")
    if config.norm_position == "pre" and box.kind in ("norm", "add", "layer") and box.part != "embedding_norm":
        result += ["Xiong et al. 2020"]
    return tuple(result)
