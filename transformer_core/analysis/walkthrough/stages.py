"""The stages of a walk, those that a model has, in the order in which it computes."""

from collections.abc import Iterator, Mapping

from transformer_core.analysis.trace.residual_stream import has_added_positions
from transformer_core.analysis.walkthrough.outline import Outline
from transformer_core.analysis.walkthrough.records import Stage
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

TITLES: Mapping[str, str] = {
    "input": mark("What goes in"),
    "norm": mark("Normalize"),
    "projection": mark("Queries, keys and values"),
    "qk_norm": mark("Normalize queries and keys"),
    "rotation": mark("Turn by position"),
    "product": mark("Dot products"),
    "scale": mark("Divide by √d_k"),
    "bias": mark("Add what the distance says"),
    "mask": mark("Mask"),
    "softmax": mark("Softmax"),
    "weigh": mark("Weigh the values"),
    "z": mark("Add up"),
    "concat": mark("Heads side by side"),
    "output": mark("Through W_O"),
    "add_norm": mark("Add & norm"),
    "add": mark("Add"),
    "cross": mark("Cross-attention"),
    "norm_2": mark("Normalize again"),
    "feed_forward": mark("Feed-forward"),
    "add_norm_2": mark("Add & norm again"),
    "add_2": mark("Add again"),
}

NOTICES: Mapping[str, str] = {
    "input": mark("Each token is a row of numbers; the head never sees the token itself, only its row."),
    "input of later layers": mark(
        "These rows have been through the layers below: each holds something of the tokens around it."
    ),
    "input of cross-attention": mark(
        "Two texts go in: the decoder's rows will ask, and the encoder's output will be looked at."
    ),
    "norm": mark("Every row comes to about the same size, so that no token shouts down the others."),
    "projection": mark("The same row is read three times: what it looks for, what it offers, and what it would tell."),
    "projection of cross-attention": mark(
        "Queries come from the decoder; keys and values come from the encoder's output."
    ),
    "projection for groups": mark("Several heads share these keys and values; only the queries are this head's own."),
    "qk_norm": mark("Queries and keys are brought to one size, so that their direction decides and not their length."),
    "rotation": mark("Each pair of numbers turns by an angle that grows with the position; the lengths stay the same."),
    "product": mark("A dot product is large where query and key are large in the same dimensions, with the same sign."),
    "scale": mark(
        "All scores shrink by the same factor, a temperature: their order stays, the softmax becomes less extreme."
    ),
    "bias": mark("This number depends only on how far the key is from the query, and on nothing that they say."),
    "mask": mark("Whatever comes after the query becomes −∞: the model cannot look at what it has yet to say."),
    "mask of a window": mark("Keys that are too far from the query become −∞, as if they were not there."),
    "mask of padding": mark("Padding becomes −∞: it fills up the row and says nothing."),
    "mask of nothing": mark("Nothing is forbidden here: every query may look at every key."),
    "softmax": mark(
        "Each row becomes shares that add up to 1; a score that is larger by 1 gets e = 2.7 times the share."
    ),
    "weigh": mark("Each value is multiplied by its weight: what gets no attention fades away."),
    "z": mark("The weighted values add up to one row for each query: what this head has found for it."),
    "concat": mark("All heads have done the same at the same time, each with queries of its own."),
    "output": mark("W_O mixes what the heads have found and brings it back to the width of the model."),
    "add_norm": mark("The layer does not replace the row, it adds to it; then the sum is brought to one size."),
    "add": mark("The layer does not replace the row, it adds to it: what went in is still there."),
    "cross": mark(
        "Before the feed-forward network, the decoder looks at the source: another attention with heads of its own."
    ),
    "norm of nothing": mark("The embeddings are normalized already, so the first attention reads them as they are."),
    "norm_2": mark("The sum is normalized for the feed-forward network alone; the sum itself goes on as it is."),
    "norm_2 of a parallel block": mark(
        "Attention and feed-forward network read the same row side by side: it is normalized once more for the network."
    ),
    "feed_forward": mark("Each row goes through the same small network by itself: here no token looks at another."),
    "add_norm_2": mark("Once more the result is added and the sum normalized: this is what the layer hands on."),
    "add_2": mark("Once more the result is added: this is what the layer hands on."),
}

_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU"}


def stages_of(outline: Outline, *, forbids: bool) -> tuple[Stage, ...]:
    """Return the stages of a walk.

    Two more matrices belong to a single query: q ⊙ k at "product", and the weighted values at "weigh"; a `Walkthrough`
    gives them by `pairs`.

    Args:
        outline: of the head.
        forbids: whether the mask hides anything from this text.
    """
    shown = outline.sites()
    return tuple(
        Stage(
            name=name,
            title=TITLES[name],
            formula=formula,
            notice=NOTICES[_notice(outline, name, forbids)],
            matrices=tuple(matrix for matrix in matrices.split() if matrix in shown),
        )
        for name, formula, matrices in _stages(outline)
    )


def _stages(outline: Outline) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each stage, its formula as this model computes it, and the matrices that it may show."""
    config, is_pre = outline.config, outline.is_pre_norm
    read, x = ("x_normalized", "X′") if is_pre else ("x", "X")
    source = "M" if outline.is_cross else x
    b_q, b_k, b_v = (f" + b_{name}" if config.attention_bias != "none" else "" for name in "QKV")
    first, index = ("_projected", "_0") if outline.is_projected_in_steps else ("", "")
    yield "input", _input(outline), "x memory"
    if is_pre:
        yield "norm", f"X′ = {'X' if outline.is_unnormalized else _norm(outline, 'X')}", "x x_normalized"
    projected = f"Q{index} = {x} W_Q{b_q} , K{index} = {source} W_K{b_k} , V = {source} W_V{b_v}"
    yield "projection", projected, f"{read} memory q{first} k{first} v"
    if config.qk_norm:
        last = "_normalized" if outline.is_rotated else ""
        norms = r"q′ = \mathrm{Norm}(q_0) , k′ = \mathrm{Norm}(k_0)"
        yield "qk_norm", norms, f"q_projected k_projected q{last} k{last}"
    if outline.is_rotated:
        before = "_normalized" if config.qk_norm else "_projected"
        turned = "q_i → R_i q_i , k_j → R_j k_j , (R_i q_i)^T (R_j k_j) = q_i^T R_{j - i} k_j"
        yield "rotation", turned, f"q{before} k{before} q k"
    yield "product", "q_i · k_j = ∑_c q_{i c} k_{j c}", "q k product"
    scores, score = "product", "Q K^T"
    if config.scale_scores:
        scores, score = "scaled", r"\frac{Q K^T}{\sqrt{d_k}}"
        yield "scale", rf"{score} = \frac{{Q K^T}}{{\sqrt{{{config.d_head}}}}}", "product scaled"
    if outline.has_bias:
        line = " , B_{i j} = -m_h |i - j|" if config.positions == "alibi" else ""
        yield "bias", f"{score} + B{line}", f"{scores} bias biased"
        scores, score = "biased", f"{score} + B"
    yield "mask", rf"S = {score} + \mathrm{{mask}}", f"{scores} mask attn_scores"
    yield "softmax", r"A_{i j} = \frac{e^{S_{i j}}}{∑_k e^{S_{i k}}}", "attn_scores pattern"
    yield "weigh", "A_{i j} v_j", "pattern v"
    yield "z", "z_i = ∑_j A_{i j} v_j", "pattern v z"
    heads = rf"\mathrm{{Concat}}(Z_0 , … , Z_{{{config.n_heads - 1}}})"
    yield "concat", heads, "z concat"
    yield "output", f"O = {heads} W_O{' + b_O' if config.attention_bias == 'all' else ''}", "concat attn_out"
    yield from _after_attention(outline)


def _after_attention(outline: Outline) -> Iterator[tuple[str, str, str]]:
    """Yield likewise what comes after the attention in its block."""
    config, is_pre = outline.config, outline.is_pre_norm
    stream, symbol = ("resid_mid", "R") if is_pre else ("normalized", "R′")
    if is_pre:
        yield "add", "R = X + O", "x attn_out resid_mid"
    else:
        yield "add_norm", r"R′ = \mathrm{Norm}(X + O)", "x attn_out resid_mid normalized"
    if outline.is_followed_by_cross:
        attention = r"\mathrm{Attention}(\mathrm{Norm}(R) , M)" if is_pre else r"\mathrm{Attention}(R′ , M)"
        added = f"R + C = R + {attention}" if is_pre else rf"(R + C)′ = \mathrm{{Norm}}(R′ + {attention})"
        yield "cross", added, f"{stream} cross_x cross_concat cross_out resid_mid_cross normalized_cross"
        stream, symbol = ("resid_mid_cross", "R + C") if is_pre else ("normalized_cross", "(R + C)′")
    if not config.d_ff:
        return
    read, read_symbol = stream, symbol
    if is_pre:
        before, of = ("x", "X") if config.parallel_residual else (stream, symbol)
        read, read_symbol = "normalized", "R′"
        yield "norm_2", f"R′ = {_norm(outline, of)}", f"{before} normalized"
    yield "feed_forward", _network(config, read_symbol), f"{read} mlp_pre mlp_linear mlp_post mlp_out"
    if is_pre:
        yield "add_2", f"R_2 = {symbol} + F", f"{stream} mlp_out resid_post"
    else:
        yield "add_norm_2", rf"Y = \mathrm{{Norm}}({symbol} + F)", f"{stream} mlp_out resid_post out"


def _notice(outline: Outline, name: str, forbids: bool) -> str:
    """Return which sentence is true of this model."""
    config = outline.config
    if name == "input" and (outline.is_cross or outline.layer):
        return "input of cross-attention" if outline.is_cross else "input of later layers"
    if name == "projection" and outline.is_cross:
        return "projection of cross-attention"
    if name == "projection" and config.n_kv_heads < config.n_heads:
        return "projection for groups"
    if name == "mask" and not forbids:
        return "mask of nothing"
    if name == "mask" and not outline.is_causal:
        return "mask of a window" if config.sliding_window is not None and not outline.is_cross else "mask of padding"
    if name == "norm" and outline.is_unnormalized:
        return "norm of nothing"
    if name == "norm_2" and outline.config.parallel_residual:
        return "norm_2 of a parallel block"
    return name


def _input(outline: Outline) -> str:
    """Return what the attention reads, said as a sum."""
    config = outline.config
    if outline.is_cross:
        return "X → Q , M → K , M → V"
    if outline.layer:
        return f"X = {_handed_on(outline)}^{{({outline.layer - 1})}}"
    summed = r"\sqrt{d_{\mathrm{model}}} E" if config.scale_embeddings else "E"
    summed += " + P" if has_added_positions(config) else ""
    summed += r" + E_{\mathrm{segment}}" if config.n_segments else ""
    return rf"X = \mathrm{{Norm}}({summed})" if config.embedding_norm else f"X = {summed}"


def _handed_on(outline: Outline) -> str:
    """Return how what a layer hands on is called."""
    if outline.config.d_ff:
        return "R_2" if outline.is_pre_norm else "Y"
    summed = "(R + C)" if outline.is_followed_by_cross else "R"
    return summed if outline.is_pre_norm else f"{summed}′"


def _norm(outline: Outline, of: str) -> str:
    """Return the normalization of the model: of each row, over its n numbers."""
    if outline.config.norm == "rms":
        return rf"γ ⊙ \frac{{{of}}}{{\sqrt{{\frac{{{{‖{of}‖}}^2}}{{n}} + ε}}}}"
    return rf"γ ⊙ \frac{{{of} - μ}}{{\sqrt{{σ^2 + ε}}}}{' + β' if outline.config.norm == 'layer' else ''}"


def _network(config: ModelConfig, read: str) -> str:
    """Return the feed-forward network."""
    name = _ACTIVATIONS[config.activation]
    first, second, gate = (f" + b_{index}" if config.feed_forward_bias else "" for index in ("1", "2", "g"))
    if config.gated:
        return rf"F = (\mathrm{{{name}}}({read} W_g{gate}) ⊙ ({read} W_1{first})) W_2{second}"
    return rf"F = \mathrm{{{name}}}({read} W_1{first}) W_2{second}"
