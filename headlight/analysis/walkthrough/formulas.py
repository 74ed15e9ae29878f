r"""The stages of a walk with their formulas, and the parser that turns the formulas' notation into MathML.

A formula is written in a small subset of TeX: `_` and `^` after a symbol, braces for groups,
`\frac{a}{b}`, `\sqrt{a}`, and `\mathrm{word}` for upright words. Every other character stands for itself.

latex2mathml 3 reads far more of TeX, but it splits `\mathrm{softmax}` into seven elements and marks ∑, ⊙, − and ‖ as
variables.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, TypeAlias

from headlight.analysis.trace.residual_stream import has_added_positions
from headlight.analysis.walkthrough.outline import Outline, Stage
from transformer_core.config import ModelConfig

_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU", "squared_relu": "ReLU²"}


_CROSS = "cross_x cross_concat cross_projected cross_out resid_mid_cross normalized_cross"


def stages_of(outline: Outline, *, forbids: bool) -> tuple[Stage, ...]:
    """Return the stages of a walk.

    Two more matrices belong to a single query: q ⊙ k at "product", and the weighted values at "weigh"; a `Walkthrough`
    gives them by `pairs`.

    Args:
        outline: of the head.
        forbids: whether the mask hides anything from this text.
    """
    return tuple(
        Stage(
            name=name,
            formula=formula,
            notice=_notice(outline, name, forbids),
            matrices=tuple(matrix for matrix in matrices.split() if matrix in outline.quantities),
        )
        for name, formula, matrices in _stages(outline)
    )


def _stages(outline: Outline) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each stage, its formula as this model computes it, and the matrices that it may show."""
    config, read = outline.config, outline.read
    x = "X′" if outline.has_input_norms else "X"
    source = "M" if outline.is_cross else x
    b_q, b_k, b_v = (f" + b_{name}" if config.attention_bias != "none" else "" for name in "QKV")
    first, index = ("_projected", "_0") if outline.is_projected_in_steps else ("", "")
    yield "input", _input(outline), "x memory"
    if outline.has_input_norms:
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
        line = (
            f" , B_{{i j}} {'≈' if config.alibi_rounding else '='} -m_h |i - j|" if config.positions == "alibi" else ""
        )
        yield "bias", f"{score} + B{line}", f"{scores} bias biased"
        scores, score = "biased", f"{score} + B"
    if config.score_cap is not None:
        yield "cap", rf"Ŝ = c · \mathrm{{tanh}}(\frac{{{score}}}{{c}}) , c = {config.score_cap:g}", f"{scores} capped"
        scores, score = "capped", "Ŝ"
    yield "mask", rf"S = {score} + \mathrm{{mask}}", f"{scores} mask attn_scores"
    yield "softmax", r"A_{i j} = \frac{e^{S_{i j}}}{∑_k e^{S_{i k}}}", "attn_scores pattern"
    if "pattern_dropped" in outline.quantities:
        yield "dropout", _drop("Ȧ", "A"), "pattern pattern_dropped"
    yield "weigh", "A_{i j} v_j", "pattern v"
    yield "z", "z_i = ∑_j A_{i j} v_j", "pattern v z"
    heads = rf"\mathrm{{Concat}}(Z_0 , … , Z_{{{config.n_heads - 1}}})"
    yield "concat", heads, "z concat"
    out = "O_0" if config.output_norm else "O"
    bias = " + b_O" if config.attention_bias == "all" else ""
    yield "output", f"{out} = {heads} W_O{bias}", f"concat {'attn_projected' if config.output_norm else 'attn_out'}"
    if config.output_norm:
        yield "output_norm", f"O = {_norm(outline, 'O_0')}", "attn_projected attn_out"
    yield from _after_attention(outline)


def _after_attention(outline: Outline) -> Iterator[tuple[str, str, str]]:
    """Yield the same for the stages after the attention in its block."""
    config, is_pre = outline.config, outline.is_pre_norm
    stream, symbol = ("resid_mid", "R") if is_pre else ("normalized", "R′")
    if "attn_dropped" in outline.quantities:
        yield "dropout_output", _drop("Ȯ", "O"), "attn_out attn_dropped"
    if is_pre:
        yield "add", "R = X + O", "x attn_out resid_mid"
    else:
        yield "add_norm", r"R′ = \mathrm{Norm}(X + O)", "x attn_out resid_mid normalized"
    if outline.is_followed_by_cross:
        queries = r"\mathrm{Norm}(R)" if outline.has_input_norms else symbol
        attention = rf"\mathrm{{Attention}}({queries} , M)"
        attention = rf"\mathrm{{Norm}}({attention})" if config.output_norm else attention
        added = f"R + C = R + {attention}" if is_pre else rf"(R + C)′ = \mathrm{{Norm}}(R′ + {attention})"
        yield "cross", added, f"{stream} {_CROSS}"
        stream, symbol = ("resid_mid_cross", "R + C") if is_pre else ("normalized_cross", "(R + C)′")
    if not config.d_ff:
        return
    read, read_symbol = stream, symbol
    if outline.has_input_norms:
        before, of = ("x", "X") if config.parallel_residual else (stream, symbol)
        read, read_symbol = "normalized", "R′"
        yield "norm_2", f"R′ = {_norm(outline, of)}", f"{before} normalized"
    fed = "mlp_projected" if config.output_norm else "mlp_out"
    yield "feed_forward", _network(config, read_symbol), f"{read} mlp_pre mlp_linear mlp_post {fed}"
    if config.output_norm:
        yield "feed_forward_norm", f"F = {_norm(outline, 'F_0')}", "mlp_projected mlp_out"
    if "mlp_dropped" in outline.quantities:
        yield "dropout_feed_forward", _drop("Ḟ", "F"), "mlp_out mlp_dropped"
    if is_pre:
        yield "add_2", f"R_2 = {symbol} + F", f"{stream} mlp_out resid_post"
    else:
        yield "add_norm_2", rf"Y = \mathrm{{Norm}}({symbol} + F)", f"{stream} mlp_out resid_post out"


def _drop(after: str, of: str) -> str:
    return rf"{after}_{{i j}} = \frac{{m_{{i j}}}}{{1 - p}} {of}_{{i j}}"


def _notice(outline: Outline, name: str, forbids: bool) -> str:
    """Return the key of the note on a stage in this model: the stage's name, or that of a special case."""
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
    if name in ("norm", "norm_2") and config.norm == "none":
        return "no norm"
    if name == "norm" and outline.is_unnormalized:
        return "norm of nothing"
    if name == "norm_2" and outline.config.parallel_residual:
        return "norm_2 of a parallel block"
    return name


def _input(outline: Outline) -> str:
    """Return the input of the attention as a sum."""
    config = outline.config
    if outline.is_cross:
        return "X → Q , M → K , M → V"
    if outline.layer:
        return f"X = {_handed_on(outline)}^{{({outline.layer - 1})}}"
    summed = r"\sqrt{d_{\mathrm{model}}} E" if config.scale_embeddings else "E"
    summed += " + P" if has_added_positions(config) else ""
    summed += r" + E_{\mathrm{segment}}" if config.n_segments else ""
    read = rf"\mathrm{{Norm}}({summed})" if config.embedding_norm else summed
    return f"X = {read} W_E + b_E" if config.d_embed else f"X = {read}"


def _handed_on(outline: Outline) -> str:
    """Return the symbol of the layer's output."""
    if outline.config.d_ff:
        return "R_2" if outline.is_pre_norm else "Y"
    summed = "(R + C)" if outline.is_followed_by_cross else "R"
    return summed if outline.is_pre_norm else f"{summed}′"


def _norm(outline: Outline, of: str) -> str:
    if outline.config.norm == "none":
        return of
    if outline.config.norm == "rms":
        return rf"γ ⊙ \frac{{{of}}}{{\sqrt{{\frac{{{{‖{of}‖}}^2}}{{n}} + ε}}}}"
    return rf"γ ⊙ \frac{{{of} - μ}}{{\sqrt{{σ^2 + ε}}}}{' + β' if outline.config.norm == 'layer' else ''}"


def _network(config: ModelConfig, read: str) -> str:
    name, out = _ACTIVATIONS[config.activation], "F_0" if config.output_norm else "F"
    first, second, gate = (f" + b_{index}" if config.feed_forward_bias else "" for index in ("1", "2", "g"))
    if config.gated:
        return rf"{out} = (\mathrm{{{name}}}({read} W_g{gate}) ⊙ ({read} W_1{first})) W_2{second}"
    return rf"{out} = \mathrm{{{name}}}({read} W_1{first}) W_2{second}"


Tree: TypeAlias = tuple[str, Any]
"""The name of a MathML element, and its text or a list of its child trees."""

_OPERATORS = "=+-−·⊙×/()[]|‖,∑∏→<≤≥≠"
_TOKENS = re.compile(r"\\mathrm\{[^}]*\}?|\\[^{]*|\d[\d.]*|.", re.DOTALL)


def formula_tree(source: str) -> Tree:
    """Return a formula as the MathML elements to make: ("mrow", [("mi", "Q"), ("mo", "="), ...]).

    Args:
        source: in the notation above.

    Raises:
        ValueError: a brace that is not closed, or a command outside the notation.
    """
    tokens = deque(_TOKENS.findall(source))
    children = _row(tokens)
    if tokens:
        raise ValueError(f"the formula {source!r} closes a brace that it has not opened")
    return "mrow", children


def _row(tokens: deque[str]) -> list[Tree]:
    """Read until the source, or the group, ends."""
    children: list[Tree] = []
    while tokens and tokens[0] != "}":
        if tokens[0] == " ":
            tokens.popleft()
        elif tokens[0] in ("_", "^"):
            scripts: dict[str, Tree] = {}  # below and above a symbol, in either order
            while tokens and tokens[0] in ("_", "^") and tokens[0] not in scripts:
                where = tokens.popleft()
                scripts[where] = _one(tokens)
            base = children.pop() if children else ("mrow", [])
            tag = "msubsup" if len(scripts) > 1 else "msub" if "_" in scripts else "msup"
            children.append((tag, [base, *(scripts[where] for where in "_^" if where in scripts)]))
        else:
            children.append(_one(tokens))
    return children


def _one(tokens: deque[str]) -> Tree:
    """Read one symbol, number, group or command."""
    if not tokens:
        raise ValueError("a formula ends where a symbol is missing")
    if tokens[0] == "{":
        children = _group(tokens)
        return children[0] if len(children) == 1 else ("mrow", children)
    token = tokens.popleft()
    if token.startswith("\\mathrm{"):
        word = token[len("\\mathrm{") :].removesuffix("}")
        return "mi" if len(word) > 1 else "mtext", word
    if token == "\\sqrt":
        return "msqrt", _group(tokens)
    if token == "\\frac":
        return "mfrac", [("mrow", _group(tokens)), ("mrow", _group(tokens))]
    if token.startswith("\\"):
        raise ValueError(f"the notation of formulas has no {token}; it has \\frac, \\sqrt and \\mathrm")
    if token[0].isdigit():
        return "mn", token
    return "mo" if token in _OPERATORS else "mi", token.replace("-", "−")


def _group(tokens: deque[str]) -> list[Tree]:
    rest = "".join(tokens)
    if not rest.startswith("{"):
        raise ValueError(f"a formula needs a group in braces before {rest!r}")
    tokens.popleft()
    children = _row(tokens)
    if not tokens:
        raise ValueError(f"the formula does not close the brace before {rest[1:]!r}")
    tokens.popleft()
    return children
