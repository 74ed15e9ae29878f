"""The shape of everything that passes a box of the plan: in symbols, and in numbers for a text.

Symbols are the field's: batch, pos (src and tgt where there are two texts), query, key, head, kv_head, d_head, d_model,
d_ff, vocab. What passes a hook point names it; the rest is on the way.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headlight.analysis.blueprint.plan import Box
from headlight.analysis.trace.residual_stream import has_added_positions, sublayers
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

PROBABILITIES = "softmax"
"""The output of the last box, which is not a hook point: the softmax of `hook_logits`."""


@dataclass(frozen=True)
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
    """Return the shapes of a box, from its input to its output."""
    return tuple(_attention(config, box) if box.kind == "attention" else _passing(config, box))


def input_site(config: ModelConfig, box: Box) -> str:
    """Return the hook point of what comes into a feed-forward network: the normalization before it."""
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
        "d_ff": config.d_ff,
        "vocab": config.vocab_size,
        "pair": config.n_rotated // 2,
        "1": 1,
    }
    return numbers | ({"src": n_keys} if box.part == "cross_attn" else {})


def in_numbers(axes: Sequence[str], numbers: Mapping[str, int]) -> tuple[int, ...]:
    """Return a shape in numbers."""
    return tuple(numbers[axis] for axis in axes)


COMES_IN, NORMALIZED, SUM = mark("input"), mark("normalized"), mark("sum")
ADDED, LOGITS = mark("sub-layer output, added to the residual stream"), mark("logits, one per token of the vocabulary")
RESHAPED, PERMUTED = mark("reshape: split into heads"), mark("permute: heads first")
TOGETHER = mark("queries, keys and values, concatenated, as one matrix product")


def _passing(config: ModelConfig, box: Box) -> Iterator[Stage]:
    """Yield the shapes of a box other than an attention."""
    stack, at = box.stack, box.module
    block = f"{stack}.blocks.{box.layer or 0}"
    pos = positions_axis(config, stack or ("decoder" if config.has_decoder else "encoder"))
    wide, hidden, each = ("batch", pos, "d_model"), ("batch", pos, "d_ff"), ("batch", pos, "vocab")
    sums = {sublayer.norm: f"{block}.{sublayer.sum}" for sublayer in sublayers(config, stack)}
    match box.kind:
        case "embedding":
            yield Stage(mark("tokens"), ("batch", pos))
            scaled, unscaled = mark("the embedding of each token, times √d_model"), mark("the embedding of each token")
            yield Stage(scaled if config.scale_embeddings else unscaled, wide, f"{stack}.hook_embed")
        case "positions" if has_added_positions(config):
            yield Stage(mark("positional encoding"), wide, f"{stack}.hook_pos_embed")
        case "positions" if config.has_rotary_positions:
            yield Stage(mark("cosines and sines of the rotation angles"), (pos, "pair"))
        case "positions":
            yield Stage(mark("bias added to the scores"), ("1", "head", "query", "key"))
        case "segments":
            yield Stage(mark("segment embedding"), wide, f"{stack}.hook_segment_embed")
        case "sum":
            yield Stage(SUM, wide, "" if config.embedding_norm else f"{block}.hook_resid_pre")
        case "layer":
            after = {
                "ln1": mark("residual stream after self-attention"),
                "ln_cross": mark("residual stream after cross-attention"),
                "ln2": mark("residual stream after this layer"),
            }
            yield Stage(mark("residual stream before this layer"), wide, f"{block}.hook_resid_pre")
            yield from (Stage(after[norm], wide, site) for norm, site in sums.items())
        case "norm":
            yield Stage(COMES_IN, wide)
            yield Stage(NORMALIZED, wide, f"{at}.hook_normalized")
            if box.part == "embedding_norm":
                yield Stage(mark("initial residual stream"), wide, f"{block}.hook_resid_pre")
        case "add":
            yield Stage(SUM, wide, sums[box.part.replace("add", "ln")])
        case "add_norm":
            yield Stage(SUM, wide, sums[box.part])
            yield Stage(NORMALIZED, wide, f"{at}.hook_normalized")
        case "feed_forward":
            gate, before = mark("gate before the activation"), mark("hidden units before the activation")
            yield Stage(COMES_IN, wide)
            yield Stage(gate if config.gated else before, hidden, f"{at}.hook_pre")
            if config.gated:
                yield Stage(mark("up-projection before gating"), hidden, f"{at}.hook_pre_linear")
            yield Stage(mark("hidden units"), hidden, f"{at}.hook_post")
            yield Stage(ADDED, wide, f"{block}.hook_mlp_out")
        case "transform":
            yield Stage(COMES_IN, wide)
            yield Stage(NORMALIZED, wide, f"{at}.norm.hook_normalized")
        case "linear":
            yield Stage(COMES_IN, wide)
            yield Stage(LOGITS, each, "hook_logits")
        case "softmax":
            yield Stage(LOGITS, each)
            yield Stage(mark("probabilities, each row sums to 1"), each, PROBABILITIES)


def _attention(config: ModelConfig, box: Box) -> Iterator[Stage]:
    """Yield the shapes of attention, from its input to its output in the stream."""
    at, is_cross, pos = box.module, box.part == "cross_attn", positions_axis(config, box.stack)
    kv_head = "head" if config.n_heads == config.n_kv_heads else "kv_head"
    if is_cross:
        yield Stage(mark("input of the queries"), ("batch", pos, "d_model"))
        yield Stage(mark("input of keys and values: the encoder's output"), ("batch", "src", "d_model"))
        yield from _side_by_side(mark("queries of all heads, concatenated"), pos, "head", 1)
        yield from _side_by_side(mark("keys and values, concatenated, as one matrix product"), "src", kv_head, 2)
        yield Stage(mark("chunk: separate keys and values"), ("batch", kv_head, "src", "d_head"))
    else:
        yield Stage(COMES_IN, ("batch", pos, "d_model"))
    if not is_cross and kv_head == "head":
        yield from _side_by_side(TOGETHER, pos, "head", 3)
        yield Stage(mark("chunk: separate queries, keys and values"), ("batch", "head", pos, "d_head"))
    elif not is_cross:
        yield from _side_by_side(TOGETHER, pos, "head + 2·kv_head", 1)
        yield Stage(mark("split into heads: queries"), ("batch", "head", pos, "d_head"))
        yield Stage(mark("split into heads: keys (values likewise)"), ("batch", "kv_head", pos, "d_head"))
    of_queries, of_keys = ("batch", "head", "query", "d_head"), ("batch", kv_head, "key", "d_head")
    if config.qk_norm:
        yield Stage(mark("queries, normalized"), of_queries, f"{at}.q_norm.hook_normalized")
        yield Stage(mark("keys, normalized"), of_keys, f"{at}.k_norm.hook_normalized")
    is_turned = config.has_rotary_positions and not is_cross
    yield Stage(mark("queries, rotated") if is_turned else mark("queries"), of_queries, f"{at}.hook_q")
    yield Stage(mark("keys, rotated") if is_turned else mark("keys"), of_keys, f"{at}.hook_k")
    yield Stage(mark("values"), of_keys, f"{at}.hook_v")
    pairs = ("batch", "head", "query", "key")
    yield Stage(mark("mask: True = may attend"), ("batch", "1", "query", "key"), f"{at}.hook_mask")
    yield Stage(mark("scores, -inf where masked"), pairs, f"{at}.hook_attn_scores")
    yield Stage(mark("attention pattern: each row sums to 1"), pairs, f"{at}.hook_pattern")
    yield Stage(mark("weighted sum of the values, z"), of_queries, f"{at}.hook_z")
    yield Stage(mark("z of all heads, concatenated"), ("batch", "query", "head·d_head"))
    yield Stage(mark("output of each head"), ("batch", "head", "query", "d_model"), f"{at}.hook_result")
    yield Stage(ADDED, ("batch", pos, "d_model"), f"{at}.hook_attn_out")


def _side_by_side(what: str, pos: str, heads: str, n: int) -> Iterator[Stage]:
    """Yield a projection of n kinds of vectors in one product, on its way to one tensor with the heads first."""
    width = f"{n}·d_head" if n > 1 else "d_head"
    whole = f"({heads})·d_head" if "+" in heads else f"{n}·{heads}·d_head" if n > 1 else f"{heads}·d_head"
    yield Stage(what, ("batch", pos, whole))
    yield Stage(RESHAPED, ("batch", pos, heads, width))
    yield Stage(PERMUTED, ("batch", heads, pos, width))
