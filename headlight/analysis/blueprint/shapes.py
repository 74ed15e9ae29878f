"""The shapes of all tensors in a box of the plan: in symbols, and in numbers for a text.

Symbols are the field's: batch, pos (src and tgt where there are two texts), query, key, head, kv_head, d_head, d_model,
d_ff, vocab. Tensors at a hook point name it; the others are intermediate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headlight.analysis.blueprint.plan import Box
from headlight.analysis.trace.dropout import rates_of
from headlight.analysis.trace.residual_stream import sublayers
from transformer_core.config import ModelConfig

PROBABILITIES = "softmax"
"""The output of the last box, which is not a hook point: the softmax of `hook_logits`."""
_NORM, _WRITTEN_NORMS = "norm", "written_norms"


def norm_of(site: str) -> str:
    """Return the name of the norm of each position's vector at a hook point, [pos]; it is not a hook point itself."""
    return f"{site}.{_NORM}"


def written_norms_of(pattern: str) -> str:
    """Return the name of ||v W_O|| of each head and key, [head, key], of the attention with this pattern."""
    return pattern.replace("hook_pattern", _WRITTEN_NORMS)


def hook_points_of(name: str) -> tuple[str, ...]:
    """Return the hook points that a value is computed from; of a hook point, only itself."""
    module, _, last = name.rpartition(".")
    if name == PROBABILITIES:
        return ("hook_logits",)
    if last == _NORM:
        return (module,)
    if last == _WRITTEN_NORMS:
        return tuple(f"{module}.{stem}" for stem in ("hook_v", "hook_pattern", "hook_z", "hook_attn_out"))
    return (name,)


@dataclass(frozen=True)
class BoxStage:
    """A tensor in a box."""

    name: str  # name of the quantity or step, such as "pattern" or "reshaped"
    axes: tuple[str, ...]
    site: str = ""  # its hook point, or `PROBABILITIES`; "" if it cannot be captured
    rate: float = 0.0  # of the dropout that it is shown after, as in training; 0: no dropout

    @property
    def key(self) -> str:
        """Its name among those of its box that can be captured."""
        return f"{self.site}.dropout" if self.rate else self.site

    @property
    def is_hook_point(self) -> bool:
        """Whether it can be captured by this name."""
        return "hook_" in self.site


def stages(config: ModelConfig, box: Box) -> tuple[BoxStage, ...]:
    """Return the shapes of a box, from its input to its output."""
    return tuple(_attention(config, box) if box.kind == "attention" else _passing(config, box))


def with_dropout(config: ModelConfig, stages_of_box: Sequence[BoxStage]) -> Iterator[BoxStage]:
    """Yield the shapes of a box, those that dropout follows in training each also after it."""
    rates = rates_of(config)
    for stage in stages_of_box:
        yield stage
        is_sum = stage.name in ("sum", "first residual") and stage.site.endswith(".blocks.0.hook_resid_pre")
        rate = rates.outputs if is_sum and not config.d_embed else rates.after(stage.site.rpartition("hook_")[2])
        if rate:
            yield replace(stage, name=f"dropout of {'sum' if is_sum else stage.name}", rate=rate)


def input_site(config: ModelConfig, box: Box) -> str:
    """Return the hook point of a feed-forward network's input: the normalization before it."""
    *_, before, network = sublayers(config, box.stack)
    norm = network.norm if config.norm_position == "pre" else before.norm
    return f"{box.module.removesuffix('mlp')}{norm}.hook_normalized"


def positions_axis(config: ModelConfig, stack: str) -> str:
    """Return the name of the positions of a stack."""
    if config.architecture != "encoder_decoder":
        return "pos"
    return "src" if stack == "encoder" else "tgt"


def sizes(config: ModelConfig, box: Box, *, batch: int, lengths: Mapping[str, int]) -> dict[str, int]:
    """Return the number that each symbol stands for at a box.

    Args:
        config: of the model.
        box: one of its plan.
        batch: texts read together.
        lengths: tokens that each stack reads, by its name.
    """
    stack = box.stack or ("decoder" if config.has_decoder else "encoder")
    n_queries = lengths[stack]
    n_keys = lengths["encoder"] if box.part == "cross_attn" else n_queries
    head, kv_head, d_head = config.n_heads, config.n_kv_heads, config.d_head
    numbers = {
        "batch": batch,
        positions_axis(config, stack): n_queries,
        "query": n_queries,
        "key": n_keys,
        "head": head,
        "kv_head": kv_head,
        "d_head": d_head,
        "2·d_head": 2 * d_head,
        "3·d_head": 3 * d_head,
        "head·d_head": head * d_head,
        "head + 2·kv_head": head + 2 * kv_head,
        "(head + 2·kv_head)·d_head": (head + 2 * kv_head) * d_head,
        "2·kv_head·d_head": 2 * kv_head * d_head,
        "2·head·d_head": 2 * head * d_head,
        "3·head·d_head": 3 * head * d_head,
        "d_model": config.d_model,
        "d_embed": config.embedding_width,
        "d_ff": config.d_ff,
        "vocab": config.vocab_size,
        "pair": config.n_rotated // 2,
        "1": 1,
    }
    return numbers | ({"src": n_keys} if box.part == "cross_attn" else {})


def in_numbers(axes: Sequence[str], numbers: Mapping[str, int]) -> tuple[int, ...]:
    """Return a shape in numbers."""
    return tuple(numbers[axis] for axis in axes)


def _passing(config: ModelConfig, box: Box) -> Iterator[BoxStage]:
    stack, at = box.stack, box.module
    block = f"{stack}.blocks.{box.layer or 0}"
    pos = positions_axis(config, stack or ("decoder" if config.has_decoder else "encoder"))
    wide, hidden, each = ("batch", pos, "d_model"), ("batch", pos, "d_ff"), ("batch", pos, "vocab")
    embedded = ("batch", pos, "d_embed") if config.d_embed else wide
    sums = {sublayer.norm: f"{block}.{sublayer.sum}" for sublayer in sublayers(config, stack)}
    match box.kind:
        case "embedding":
            yield BoxStage("tokens", ("batch", pos))
            yield BoxStage(
                "scaled embedding" if config.scale_embeddings else "embedding", embedded, f"{stack}.hook_embed"
            )
        case "positions" if box.part == "pos_embed":
            yield BoxStage("positions", embedded, f"{stack}.hook_pos_embed")
        case "positions" if box.part == "rotary":
            yield BoxStage("rotation", (pos, "pair"))
        case "positions":
            yield BoxStage("bias", ("1", "head", "query", "key"))
        case "segments":
            yield BoxStage("segments", embedded, f"{stack}.hook_segment_embed")
        case "sum":
            yield BoxStage("sum", embedded, "" if config.embedding_norm else f"{block}.hook_resid_pre")
        case "projection":
            yield BoxStage("input", embedded)
            yield BoxStage("first residual", wide, f"{block}.hook_resid_pre")
        case "layer":
            after = {"ln1": "after self_attn", "ln_cross": "after cross_attn", "ln2": "after layer"}
            yield BoxStage("before layer", wide, f"{block}.hook_resid_pre")
            yield from (BoxStage(after[norm], wide, site) for norm, site in sums.items())
        case "norm":
            around = embedded if box.part == "embedding_norm" else wide
            yield BoxStage("input", around)
            yield BoxStage("normalized", around, f"{at}.hook_normalized")
            if box.part == "out_norm":
                sublayer = at.removesuffix(".out_norm")
                added = f"{block}.hook_mlp_out" if sublayer.endswith("mlp") else f"{sublayer}.hook_attn_out"
                yield BoxStage("added", wide, added)
            if box.part == "embedding_norm" and not config.d_embed:
                yield BoxStage("first residual", wide, f"{block}.hook_resid_pre")
        case "add":
            yield BoxStage("sum", wide, sums[box.part.replace("add", "ln")])
        case "add_norm":
            yield BoxStage("sum", wide, sums[box.part])
            yield BoxStage("normalized", wide, f"{at}.hook_normalized")
        case "feed_forward":
            yield BoxStage("input", wide)
            yield BoxStage("gate" if config.gated else "before activation", hidden, f"{at}.hook_pre")
            if config.gated:
                yield BoxStage("up", hidden, f"{at}.hook_pre_linear")
            yield BoxStage("hidden", hidden, f"{at}.hook_post")
            yield BoxStage("output", wide) if config.output_norm else BoxStage("added", wide, f"{block}.hook_mlp_out")
        case "transform":
            yield BoxStage("input", wide)
            yield BoxStage("normalized", embedded, f"{at}.norm.hook_normalized")
        case "linear":
            yield BoxStage("input", embedded)
            yield BoxStage("logits", each, "hook_logits")
        case "softmax":
            yield BoxStage("logits", each)
            yield BoxStage("probabilities", each, PROBABILITIES)


def _attention(config: ModelConfig, box: Box) -> Iterator[BoxStage]:
    at, is_cross, pos = box.module, box.part == "cross_attn", positions_axis(config, box.stack)
    kv_head = "head" if config.n_heads == config.n_kv_heads else "kv_head"
    if is_cross:
        yield BoxStage("input of q", ("batch", pos, "d_model"))
        yield BoxStage("memory", ("batch", "src", "d_model"))
        yield from _side_by_side("q of all heads", pos, "head", 1)
        yield from _side_by_side("k and v", "src", kv_head, 2)
        yield BoxStage("chunks k, v", ("batch", kv_head, "src", "d_head"))
    else:
        yield BoxStage("input", ("batch", pos, "d_model"))
    if not is_cross and kv_head == "head":
        yield from _side_by_side("q, k and v", pos, "head", 3)
        yield BoxStage("chunks q, k, v", ("batch", "head", pos, "d_head"))
    elif not is_cross:
        yield from _side_by_side("q, k and v", pos, "head + 2·kv_head", 1)
        yield BoxStage("split q", ("batch", "head", pos, "d_head"))
        yield BoxStage("split k", ("batch", "kv_head", pos, "d_head"))
    of_queries, of_keys = ("batch", "head", "query", "d_head"), ("batch", kv_head, "key", "d_head")
    if config.qk_norm:
        yield BoxStage("normalized q", of_queries, f"{at}.q_norm.hook_normalized")
        yield BoxStage("normalized k", of_keys, f"{at}.k_norm.hook_normalized")
    is_turned = config.at_layer(box.layer or 0).has_rotary_positions and not is_cross
    yield BoxStage("rotated q" if is_turned else "q", of_queries, f"{at}.hook_q")
    yield BoxStage("rotated k" if is_turned else "k", of_keys, f"{at}.hook_k")
    yield BoxStage("v", of_keys, f"{at}.hook_v")
    pairs = ("batch", "head", "query", "key")
    yield BoxStage("mask", ("batch", "1", "query", "key"), f"{at}.hook_mask")
    yield BoxStage("attn_scores", pairs, f"{at}.hook_attn_scores")
    yield BoxStage("pattern", pairs, f"{at}.hook_pattern")
    yield BoxStage("z", of_queries, f"{at}.hook_z")
    yield BoxStage("concatenated z", ("batch", "query", "head·d_head"))
    yield BoxStage("result", ("batch", "head", "query", "d_model"), f"{at}.hook_result")
    wide = ("batch", pos, "d_model")
    yield BoxStage("output", wide) if config.output_norm else BoxStage("added", wide, f"{at}.hook_attn_out")


def _side_by_side(name: str, pos: str, heads: str, n: int) -> Iterator[BoxStage]:
    """Yield the stages of a joint projection to n kinds of vectors, up to one tensor with the heads first."""
    width = f"{n}·d_head" if n > 1 else "d_head"
    whole = f"({heads})·d_head" if "+" in heads else f"{n}·{heads}·d_head" if n > 1 else f"{heads}·d_head"
    yield BoxStage(name, ("batch", pos, whole))
    yield BoxStage("reshaped", ("batch", pos, heads, width))
    yield BoxStage("permuted", ("batch", heads, pos, width))
