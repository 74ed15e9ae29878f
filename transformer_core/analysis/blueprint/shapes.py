"""The shape of everything that passes a box of the plan: in symbols, and in numbers for a text.

Symbols are the field's: batch, pos (src and tgt where there are two texts), query, key, head, kv_head, d_head, d_model,
d_ff, vocab. What passes a hook point names it; the rest is on the way.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from transformer_core.analysis.blueprint.plan import Box, has_added_positions
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

PROBABILITIES = "softmax"
"""What the last box gives, which is no hook point: the softmax of `hook_logits`."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Something that passes a box."""

    what: str  # in English, marked for translation
    axes: tuple[str, ...]
    site: str = ""  # the hook point that it passes, or `PROBABILITIES`; "" where one cannot look

    @property
    def is_hook_point(self) -> bool:
        """Whether it can be captured by this name."""
        return "hook_" in self.site


def stages(config: ModelConfig, box: Box) -> tuple[Stage, ...]:
    """Return what passes a box, from its input to its output."""
    if box.layer is None:
        return tuple(_of_stack(config, box) if box.stack else _of_head(config, box))
    if box.kind == "layer":
        return tuple(_of_layer(config, box))
    if box.kind == "attention":
        return tuple(_of_attention(config, box))
    if box.kind == "feed_forward":
        return tuple(_of_feed_forward(config, box))
    return tuple(_of_norm_or_sum(config, box))


def sites_of(config: ModelConfig, box: Box) -> tuple[str, ...]:
    """Return the hook points of a box."""
    return tuple(stage.site for stage in stages(config, box) if stage.is_hook_point)


def input_site(config: ModelConfig, box: Box) -> str:
    """Return the hook point of what comes into a feed-forward network: the normalization before it."""
    block = box.module.removesuffix(".mlp")
    if config.norm_position == "pre":
        return f"{block}.ln2.hook_normalized"
    return f"{block}.{'ln_cross' if 'cross_attn' in _sublayers(config, box.stack) else 'ln1'}.hook_normalized"


def positions_axis(config: ModelConfig, stack: str) -> str:
    """Return what the positions of a stack are called."""
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
    found = {
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
        "d_ff": config.d_ff,
        "vocab": config.vocab_size,
        "pair": config.n_rotated // 2,
        "1": 1,
    }
    return found | ({"src": n_keys} if box.part == "cross_attn" else {})


def in_numbers(axes: Sequence[str], numbers: Mapping[str, int]) -> tuple[int, ...]:
    """Return a shape in numbers."""
    return tuple(numbers[axis] for axis in axes)


TOKENS = mark("tokens")
EMBEDDED = mark("the embedding of each token")
EMBEDDED_SCALED = mark("the embedding of each token, times √d_model")
ADDED_POSITIONS = mark("what positions add")
ADDED_SEGMENTS = mark("what segments add")
STARTS = mark("the stream as it begins")
NORMALIZED = mark("normalized")
IN = mark("what comes in")
COSINES = mark("cosines and sines of the turns")
BIAS = mark("what is added to the scores")
BEFORE = mark("the stream before this layer")
AFTER_SELF = mark("the stream after self-attention")
AFTER_CROSS = mark("the stream after cross-attention")
AFTER = mark("the stream after this layer")
TOGETHER = mark("queries, keys and values side by side, as in one product")
KEYS_AND_VALUES = mark("keys and values side by side, as in one product")
QUERIES = mark("queries of all heads side by side")
RESHAPED = mark("reshape: head by head")
PERMUTED = mark("permute: heads first")
CHUNKED = mark("chunk: queries, keys and values apart")
SPLIT_QUERIES = mark("split by heads: queries")
SPLIT_KEYS_AND_VALUES = mark("split by heads: keys, and as many values")
CHUNKED_KEYS_AND_VALUES = mark("chunk: keys and values apart")
FROM_STREAM = mark("what queries are made of")
FROM_MEMORY = mark("what keys and values are made of: the encoder's output")
Q, K, V = mark("queries"), mark("keys"), mark("values")
Q_TURNED, K_TURNED = mark("queries, rotated"), mark("keys, rotated")
Q_NORMALIZED, K_NORMALIZED = mark("queries, normalized"), mark("keys, normalized")
MASK = mark("the mask: True = may attend")
SCORES = mark("scores, -inf where the mask forbids")
PATTERN = mark("the pattern: each row sums to 1")
Z = mark("weighted sum of the values, z")
SIDE_BY_SIDE = mark("the heads' z side by side")
RESULT = mark("what each head writes")
ATTN_OUT = mark("what is added to the stream")
GATE = mark("the gate before its activation")
UP = mark("what the gate lets through, before it")
PRE = mark("the hidden layer before its activation")
POST = mark("the hidden layer")
LOGITS = mark("logits, one per token of the vocabulary")
PROBS = mark("probabilities, each row sums to 1")
SUM = mark("the sum")


def _of_stack(config: ModelConfig, box: Box) -> Iterator[Stage]:
    """Yield what passes the boxes before and after the layers."""
    stack, pos = box.stack, positions_axis(config, box.stack)
    wide = ("batch", pos, "d_model")
    if box.kind == "embedding":
        yield Stage(what=TOKENS, axes=("batch", pos))
        what = EMBEDDED_SCALED if config.scale_embeddings else EMBEDDED
        yield Stage(what=what, axes=wide, site=f"{stack}.hook_embed")
    elif box.kind == "positions" and has_added_positions(config):
        yield Stage(what=ADDED_POSITIONS, axes=wide, site=f"{stack}.hook_pos_embed")
    elif box.kind == "positions" and config.has_rotary_positions:
        yield Stage(what=COSINES, axes=(pos, "pair"))
    elif box.kind == "positions":
        yield Stage(what=BIAS, axes=("1", "head", "query", "key"))
    elif box.kind == "segments":
        yield Stage(what=ADDED_SEGMENTS, axes=wide, site=f"{stack}.hook_segment_embed")
    elif box.kind == "sum":
        yield Stage(what=SUM, axes=wide, site="" if config.embedding_norm else f"{stack}.blocks.0.hook_resid_pre")
    else:
        yield Stage(what=IN, axes=wide)
        yield Stage(what=NORMALIZED, axes=wide, site=f"{box.module}.hook_normalized")
        if box.part == "embedding_norm":
            yield Stage(what=STARTS, axes=wide, site=f"{stack}.blocks.0.hook_resid_pre")


def _of_head(config: ModelConfig, box: Box) -> Iterator[Stage]:
    """Yield what passes the boxes after the last stack."""
    pos = positions_axis(config, "decoder" if config.has_decoder else "encoder")
    wide, each = ("batch", pos, "d_model"), ("batch", pos, "vocab")
    if box.kind == "softmax":
        yield Stage(what=LOGITS, axes=each)
        yield Stage(what=PROBS, axes=each, site=PROBABILITIES)
        return
    yield Stage(what=IN, axes=wide)
    if box.kind == "transform":
        yield Stage(what=NORMALIZED, axes=wide, site="unembed_transform.norm.hook_normalized")
    else:
        yield Stage(what=LOGITS, axes=each, site="hook_logits")


def _of_layer(config: ModelConfig, box: Box) -> Iterator[Stage]:
    """Yield the stream on its way through a layer."""
    wide = ("batch", positions_axis(config, box.stack), "d_model")
    yield Stage(what=BEFORE, axes=wide, site=f"{box.module}.hook_resid_pre")
    for sublayer, what in (("self_attn", AFTER_SELF), ("cross_attn", AFTER_CROSS), ("mlp", AFTER)):
        if sublayer in _sublayers(config, box.stack):
            yield Stage(what=what, axes=wide, site=_sum_behind(config, box, sublayer))


def _of_attention(config: ModelConfig, box: Box) -> Iterator[Stage]:
    """Yield what passes attention, from its input to what it adds to the stream."""
    at, d_head = box.module, "d_head"
    is_cross = box.part == "cross_attn"
    pos = positions_axis(config, box.stack)
    if is_cross:
        yield Stage(what=FROM_STREAM, axes=("batch", pos, "d_model"))
        yield Stage(what=FROM_MEMORY, axes=("batch", "src", "d_model"))
    else:
        yield Stage(what=IN, axes=("batch", pos, "d_model"))
    kv_head = "head" if config.n_heads == config.n_kv_heads else "kv_head"
    if is_cross:
        yield from _fused(QUERIES, pos, 1, "")
        yield from _fused(KEYS_AND_VALUES, "src", 2, CHUNKED_KEYS_AND_VALUES, kv_head)
    elif kv_head == "head":
        yield from _fused(TOGETHER, pos, 3, CHUNKED)
    else:
        yield Stage(what=TOGETHER, axes=("batch", pos, "(head + 2·kv_head)·d_head"))
        yield Stage(what=RESHAPED, axes=("batch", pos, "head + 2·kv_head", d_head))
        yield Stage(what=PERMUTED, axes=("batch", "head + 2·kv_head", pos, d_head))
        yield Stage(what=SPLIT_QUERIES, axes=("batch", "head", pos, d_head))
        yield Stage(what=SPLIT_KEYS_AND_VALUES, axes=("batch", "kv_head", pos, d_head))
    of_queries, of_keys = ("batch", "head", "query", d_head), ("batch", kv_head, "key", d_head)
    if config.qk_norm:
        yield Stage(what=Q_NORMALIZED, axes=of_queries, site=f"{at}.q_norm.hook_normalized")
        yield Stage(what=K_NORMALIZED, axes=of_keys, site=f"{at}.k_norm.hook_normalized")
    is_turned = config.has_rotary_positions and not is_cross
    yield Stage(what=Q_TURNED if is_turned else Q, axes=of_queries, site=f"{at}.hook_q")
    yield Stage(what=K_TURNED if is_turned else K, axes=of_keys, site=f"{at}.hook_k")
    yield Stage(what=V, axes=of_keys, site=f"{at}.hook_v")
    pairs = ("batch", "head", "query", "key")
    yield Stage(what=MASK, axes=("batch", "1", "query", "key"), site=f"{at}.hook_mask")
    yield Stage(what=SCORES, axes=pairs, site=f"{at}.hook_attn_scores")
    yield Stage(what=PATTERN, axes=pairs, site=f"{at}.hook_pattern")
    yield Stage(what=Z, axes=of_queries, site=f"{at}.hook_z")
    yield Stage(what=SIDE_BY_SIDE, axes=("batch", "query", "head·d_head"))
    yield Stage(what=RESULT, axes=("batch", "head", "query", "d_model"), site=f"{at}.hook_result")
    yield Stage(what=ATTN_OUT, axes=("batch", pos, "d_model"), site=f"{at}.hook_attn_out")


def _fused(what: str, pos: str, n: int, chunked: str, head: str = "head") -> Iterator[Stage]:
    """Yield a projection of n kinds of vectors in one product, on its way to one tensor for each kind."""
    times = f"{n}·" if n > 1 else ""
    yield Stage(what=what, axes=("batch", pos, f"{times}{head}·d_head"))
    yield Stage(what=RESHAPED, axes=("batch", pos, head, f"{times}d_head"))
    yield Stage(what=PERMUTED, axes=("batch", head, pos, f"{times}d_head"))
    if chunked:
        yield Stage(what=chunked, axes=("batch", head, pos, "d_head"))


def _of_feed_forward(config: ModelConfig, box: Box) -> Iterator[Stage]:
    """Yield what passes a feed-forward network."""
    pos = positions_axis(config, box.stack)
    wide, hidden = ("batch", pos, "d_model"), ("batch", pos, "d_ff")
    yield Stage(what=IN, axes=wide)
    yield Stage(what=GATE if config.gated else PRE, axes=hidden, site=f"{box.module}.hook_pre")
    if config.gated:
        yield Stage(what=UP, axes=hidden, site=f"{box.module}.hook_pre_linear")
    yield Stage(what=POST, axes=hidden, site=f"{box.module}.hook_post")
    block = box.module.removesuffix(".mlp")
    yield Stage(what=ATTN_OUT, axes=wide, site=f"{block}.hook_mlp_out")


def _of_norm_or_sum(config: ModelConfig, box: Box) -> Iterator[Stage]:
    """Yield what passes the boxes between the sub-layers."""
    wide = ("batch", positions_axis(config, box.stack), "d_model")
    if box.kind == "norm":
        yield Stage(what=IN, axes=wide)
    else:
        sublayer = _BEHIND[box.part]
        yield Stage(what=SUM, axes=wide, site=_sum_behind(config, box, sublayer))
    if box.kind != "add":
        yield Stage(what=NORMALIZED, axes=wide, site=f"{box.module}.hook_normalized")


_BEHIND = {  # the sub-layer that a box adds up behind
    **{"ln1": "self_attn", "add1": "self_attn"},
    **{"ln_cross": "cross_attn", "add_cross": "cross_attn"},
    **{"ln2": "mlp", "add2": "mlp"},
}
_SITES = {"self_attn": "hook_resid_mid", "cross_attn": "hook_resid_mid_cross", "mlp": "hook_resid_post"}


def _sublayers(config: ModelConfig, stack: str) -> tuple[str, ...]:
    """Return the sub-layers of each layer of a stack, in their order."""
    has_cross = stack == "decoder" and config.has_encoder
    return ("self_attn", *(["cross_attn"] if has_cross else []), *(["mlp"] if config.d_ff else []))


def _sum_behind(config: ModelConfig, box: Box, sublayer: str) -> str:
    """Return the hook point of the sum after a sub-layer: the last one's is `hook_resid_post`."""
    is_last = sublayer == _sublayers(config, box.stack)[-1]
    return f"{box.stack}.blocks.{box.layer}.{'hook_resid_post' if is_last else _SITES[sublayer]}"
