"""The texts about every box of the plan: its name, what it does, and where the paper has it. English, marked."""

from headlight.analysis.blueprint.plan import Box, is_normalized
from headlight.analysis.trace.residual_stream import has_added_positions
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

_TITLES = {
    "segments": mark("Segment embedding"),
    "sum": mark("Sum"),
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
_PASSES = mark("This model has no normalization: the sub-layer reads the residual stream directly.")
_HANDS_ON = mark("The embeddings are already normalized, so the first attention uses them directly.")
_SELF, _MASKED = mark("Multi-head attention"), mark("Masked multi-head attention")
_CROSS = mark("Multi-head cross-attention")
_GATED = mark("Gated feed forward")

_DOES = {
    "embedding": mark("Looks up each token’s embedding vector, one row of the matrix."),
    "segments": mark("Adds a vector that encodes which sentence a token belongs to."),
    "sum": mark("Adds token embedding and positional encoding. The sum is the start of the residual stream."),
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
    "added": mark("Adds a vector that encodes the position to each token's vector."),
    "rotary": mark(
        "Rotates queries and keys by an angle proportional to the position, so that scores depend on the distance."
    ),
    "bias": mark("Adds a bias to each score that depends only on the distance between query and key."),
}
_LAST_NORM = mark("Normalizes the final states before the unembedding.")
_FIRST_NORM = mark("Normalizes the sum of the embeddings.")

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


def title(config: ModelConfig, box: Box) -> str:
    """Return the name of a box."""
    match box.kind:
        case "embedding":
            return _EMBEDDINGS[box.stack if config.architecture == "encoder_decoder" else ""]
        case "positions":
            return _POSITIONS[config.positions][0]
        case "norm":
            return _NORMS.get(config.norm, _NO_NORM) if is_normalized(config, box) else _NO_NORM
        case "attention":
            return _CROSS if box.part == "cross_attn" else _MASKED if box.stack == "decoder" else _SELF
        case "feed_forward" if config.gated:
            return _GATED
    return _TITLES[box.kind]


def does(config: ModelConfig, box: Box) -> str:
    """Return a sentence on the function of a box."""
    if box.kind == "attention":
        return _ATTENDS["cross" if box.part == "cross_attn" else box.stack]
    if box.kind == "positions":
        inside = "rotary" if config.has_rotary_positions else "bias"
        return _PLACES["added" if has_added_positions(config) else inside]
    if box.kind == "norm" and config.norm == "none":
        return _PASSES
    if box.part == "ln_final":
        return _LAST_NORM
    if box.kind == "norm" and not is_normalized(config, box):
        return _HANDS_ON
    return _FIRST_NORM if box.part == "embedding_norm" else _DOES[box.kind]


def sources(config: ModelConfig, box: Box) -> tuple[str, ...]:
    """Return where a box is described: the paper's section, and what the model takes from elsewhere."""
    if box.kind == "norm" and config.norm == "none":
        return ("Elhage et al. 2021",)
    result = [f"{_VASWANI}{_SECTIONS[box.kind]}"] if box.kind in _SECTIONS else []
    match box.kind:
        case "positions":
            result = [_POSITIONS[config.positions][1]]
        case "segments":
            result = ["Devlin et al. 2019, fig.\u00a02"]
        case "transform":
            result = ["Devlin et al. 2019"]
        case "attention":
            result = [f"{_VASWANI}3.2.2, 3.2.3"]
            result += ["Ainslie et al. 2023"] if config.n_kv_heads < config.n_heads else []
            result += ["Beltagy et al. 2020"] if config.sliding_window and box.part == "self_attn" else []
        case "feed_forward" if config.gated:
            result += ["Shazeer 2020, (6)"]
        case "norm" if config.norm == "rms":
            result += ["Zhang and Sennrich 2019, (4)"]
        case "norm" | "add_norm":
            result += ["Ba et al. 2016, (3)"]
    if config.norm_position == "pre" and box.kind in ("norm", "add", "layer") and box.part != "embedding_norm":
        result += ["Xiong et al. 2020"]
    return tuple(result)
