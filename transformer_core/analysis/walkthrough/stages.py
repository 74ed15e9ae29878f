"""The stages of a walk, those that a model has, in the order in which it computes."""

from collections.abc import Mapping

from transformer_core.analysis.walkthrough.outline import Outline
from transformer_core.analysis.walkthrough.records import Stage

_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU"}


def stages_of(outline: Outline, *, forbids: bool) -> tuple[Stage, ...]:
    """Return the stages of a walk.

    Two more matrices belong to a single query: q ⊙ k at "product", and the weighted values at "weigh"; a `Walkthrough`
    gives them by `elementwise` and `weighted`.

    Args:
        outline: of the head.
        forbids: whether the mask hides anything from this text.
    """
    shown = outline.sites()
    return tuple(
        Stage(
            name=name,
            formula=_formulas(outline)[name],
            notice=_notice(outline, name, forbids),
            matrices=tuple(matrix for matrix in matrices if matrix in shown),
        )
        for name, matrices in _matrices(outline).items()
    )


def _matrices(outline: Outline) -> Mapping[str, tuple[str, ...]]:
    """Return the stages that there are, each with what it may show."""
    is_pre = outline.is_pre_norm
    read = "x_normalized" if is_pre else "x"
    stages: dict[str, tuple[str, ...]] = {"input": ("x", "memory")}
    if is_pre:
        stages["norm"] = ("x", "x_normalized")
    first = "_projected" if outline.is_projected_in_steps else ""
    stages["projection"] = (read, "memory", f"q{first}", f"k{first}", "v")
    if outline.config.qk_norm:
        last = "_normalized" if outline.is_rotated else ""
        stages["qk_norm"] = ("q_projected", "k_projected", f"q{last}", f"k{last}")
    if outline.is_rotated:
        before = "_normalized" if outline.config.qk_norm else "_projected"
        stages["rotation"] = (f"q{before}", f"k{before}", "q", "k")
    stages["product"] = ("q", "k", "product")
    if outline.config.scale_scores:
        stages["scale"] = ("product", "scaled")
    scores = "scaled" if outline.config.scale_scores else "product"
    if outline.has_bias:
        stages["bias"] = (scores, "bias", "biased")
    stages |= {
        "mask": ("biased" if outline.has_bias else scores, "mask", "attn_scores"),
        "softmax": ("attn_scores", "pattern"),
        "weigh": ("pattern", "v"),
        "z": ("pattern", "v", "z"),
        "concat": ("z", "concat"),
        "output": ("concat", "attn_out"),
    }
    stages["add" if is_pre else "add_norm"] = ("x", "attn_out", "resid_mid", *(() if is_pre else ("normalized",)))
    if outline.is_followed_by_cross:
        before = "resid_mid" if is_pre else "normalized"
        stages["cross"] = (before, "cross_x", "cross_concat", "cross_out", "resid_mid_cross", "normalized_cross")
    return stages | (_feed_forward(outline) if outline.has_feed_forward else {})


def _feed_forward(outline: Outline) -> dict[str, tuple[str, ...]]:
    """Return the stages of the feed-forward network."""
    crossed = outline.is_followed_by_cross
    if outline.is_pre_norm:
        added = "resid_mid_cross" if crossed else "resid_mid"
        return {
            "norm_2": ("x" if outline.is_parallel else added, "normalized"),
            "feed_forward": ("normalized", "mlp_pre", "mlp_linear", "mlp_post", "mlp_out"),
            "add_2": (added, "mlp_out", "resid_post"),
        }
    read = "normalized_cross" if crossed else "normalized"
    return {
        "feed_forward": (read, "mlp_pre", "mlp_linear", "mlp_post", "mlp_out"),
        "add_norm_2": (read, "mlp_out", "resid_post", "out"),
    }


def _notice(outline: Outline, name: str, forbids: bool) -> str:
    """Return what is to be noticed of a stage in this model: its name, or a name of the case."""
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
    if name == "norm_2" and outline.is_parallel:
        return "norm_2 of a parallel block"
    return name


def _formulas(outline: Outline) -> Mapping[str, str]:
    """Return the formulas of all stages, as this model computes them."""
    config = outline.config
    has_biases, has_last = config.attention_bias != "none", config.attention_bias == "all"
    source = "M" if outline.is_cross else ("X′" if outline.is_pre_norm else "X")
    read = "X′" if outline.is_pre_norm else "X"
    first = "_0" if outline.is_projected_in_steps else ""
    scores = r"\frac{Q K^T}{\sqrt{d_k}}" if config.scale_scores else "Q K^T"
    b = {name: f" + b_{name}" if has_biases else "" for name in "QKV"}
    crossed = outline.is_followed_by_cross
    summed = "R + C" if crossed else "R"
    return {
        "input": _input(outline),
        "norm": "X′ = X" if outline.is_unnormalized else f"X′ = {_norm(outline, 'X')}",
        "projection": f"Q{first} = {read} W_Q{b['Q']} , K{first} = {source} W_K{b['K']} , V = {source} W_V{b['V']}",
        "qk_norm": r"q′ = \mathrm{Norm}(q_0) , k′ = \mathrm{Norm}(k_0)",
        "rotation": "q_i → R_i q_i , k_j → R_j k_j , (R_i q_i)^T (R_j k_j) = q_i^T R_{j - i} k_j",
        "product": "q_i · k_j = ∑_c q_{i c} k_{j c}",
        "scale": rf"\frac{{Q K^T}}{{\sqrt{{d_k}}}} = \frac{{Q K^T}}{{\sqrt{{{config.d_head}}}}}",
        "bias": f"{scores} + B" + (" , B_{i j} = -m_h |i - j|" if config.positions == "alibi" else ""),
        "mask": f"S = {scores}{' + B' if outline.has_bias else ''} + \\mathrm{{mask}}",
        "softmax": r"A_{i j} = \frac{e^{S_{i j}}}{∑_k e^{S_{i k}}}",
        "weigh": "A_{i j} v_j",
        "z": "z_i = ∑_j A_{i j} v_j",
        "concat": rf"\mathrm{{Concat}}(Z_0 , … , Z_{{{config.n_heads - 1}}})",
        "output": rf"O = \mathrm{{Concat}}(Z_0 , … , Z_{{{config.n_heads - 1}}}) W_O{' + b_O' if has_last else ''}",
        "add_norm": r"R′ = \mathrm{Norm}(X + O)",
        "add": "R = X + O",
        "cross": _cross(outline),
        "norm_2": f"R′ = {_norm(outline, 'X' if outline.is_parallel else summed)}",
        "feed_forward": _network(outline, "(R + C)′" if crossed and not outline.is_pre_norm else "R′"),
        "add_norm_2": rf"Y = \mathrm{{Norm}}({'(R + C)′' if crossed else 'R′'} + F)",
        "add_2": f"R_2 = {summed} + F",
    }


def _input(outline: Outline) -> str:
    """Return what the attention reads, said as a sum."""
    config = outline.config
    if outline.is_cross:
        return "X → Q , M → K , M → V"
    if outline.layer:
        return f"X = {_handed_on(outline)}^{{({outline.layer - 1})}}"
    summed = r"\sqrt{d_{\mathrm{model}}} E" if config.scale_embeddings else "E"
    summed += " + P" if config.positions.startswith(("sinusoidal", "learned")) else ""
    summed += r" + E_{\mathrm{segment}}" if config.n_segments else ""
    return rf"X = \mathrm{{Norm}}({summed})" if config.embedding_norm else f"X = {summed}"


def _handed_on(outline: Outline) -> str:
    """Return how what a layer hands on is called."""
    if outline.has_feed_forward:
        return "R_2" if outline.is_pre_norm else "Y"
    summed = "(R + C)" if outline.is_followed_by_cross else "R"
    return summed if outline.is_pre_norm else f"{summed}′"


def _norm(outline: Outline, of: str) -> str:
    """Return the normalization of the model: of each row, over its n numbers."""
    if outline.config.norm == "none":
        return of
    if outline.config.norm == "rms":
        return rf"γ ⊙ \frac{{{of}}}{{\sqrt{{\frac{{{{‖{of}‖}}^2}}{{n}} + ε}}}}"
    return rf"γ ⊙ \frac{{{of} - μ}}{{\sqrt{{σ^2 + ε}}}}{' + β' if outline.config.norm == 'layer' else ''}"


def _cross(outline: Outline) -> str:
    """Return what cross-attention adds."""
    if outline.is_pre_norm:
        return r"R + C = R + \mathrm{Attention}(\mathrm{Norm}(R) , M)"
    return r"(R + C)′ = \mathrm{Norm}(R′ + \mathrm{Attention}(R′ , M))"


def _network(outline: Outline, read: str) -> str:
    """Return the feed-forward network."""
    config = outline.config
    name = _ACTIVATIONS[config.activation]
    first, second = (" + b_1", " + b_2") if config.feed_forward_bias else ("", "")
    if config.gated:
        gate = " + b_g" if config.feed_forward_bias else ""
        return rf"F = (\mathrm{{{name}}}({read} W_g{gate}) ⊙ ({read} W_1{first})) W_2{second}"
    return rf"F = \mathrm{{{name}}}({read} W_1{first}) W_2{second}"
