"""The decoder's step for one new token a row, in NumPy: the sums of the modules, in as few calls as they need.

A small model's step is a hundred small products, and most of them take less time than torch needs to begin with one;
NumPy begins several times faster and works on the same memory. So where nobody is looking, and the weights lie on the
CPU, the step is made once of the modules' weights and run as it is; else the modules do it. The tests hold both to the
same numbers, for every part that a configuration can choose. What is large, or has no name in NumPy, torch does.
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.decoding.beam_keys import Array, BeamStore, Moment, array
from transformer_core.decoding.cache import FixedStore, KeyValueCache
from transformer_core.hooks import is_anybody_looking
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.block import Block
from transformer_core.model.feed_forward import FeedForward
from transformer_core.model.norms import LayerNorm, RMSNorm
from transformer_core.model.stack import Stack
from transformer_core.model.transformer import Transformer

Step = Callable[[Array], Array]  # [row, width] -> [row, width]

_FEW = 64  # heads of all searches: to NumPy each is a product of its own
_SMALL = 1 << 20  # products of two numbers; more of them are worth torch's beginning, and its threads


class QuickStep:
    """A decoder at the step of one token a row, with its modules' weights and the stores of a cache."""

    def __init__(
        self,
        model: Transformer,
        cache: KeyValueCache,
        memory_mask: Float[Tensor, "row 1 1 src"] | None,
        *,
        n_beams: int = 1,
    ) -> None:
        """Make the step; the cache must have been filled by the model with at least one position.

        Args:
            model: one for which `can_be_quick`.
            cache: what was read so far; `give_back` brings it up to date.
            memory_mask: 0 where the source may be looked at, else -inf; None where all of it may be, or there is none.
            n_beams: so many neighbouring rows are of one search, and have read the same so far.
        """
        assert model.decoder is not None, "only a decoder writes"
        self.config, self.stack, self.cache = model.config, model.decoder, cache
        k_v = cache.blocks[0].self_attn.k_v
        assert k_v is not None, "the model has not read anything yet"
        n_rows, group = k_v.shape[0], self.config.n_heads // self.config.n_key_value_heads
        self.moment = Moment(n_rows // n_beams, n_beams, group, cache.n_positions, array(k_v).dtype)
        self.stores = [BeamStore(stores.self_attn, self.moment) for stores in cache.blocks]
        self.embed = _embed_step(self.stack)
        self.blocks = [
            _block_step(
                block, store, stores.cross_attn, None if memory_mask is None else memory_mask.numpy(), self.moment
            )
            for block, store, stores in zip(_blocks(self.stack), self.stores, cache.blocks, strict=True)
        ]
        self.ln_final = None if self.stack.ln_final is None else _norm_step(self.stack.ln_final)
        self.unembed = _linear_step(n_rows, model.unembed)

    def log_probs(self, tokens: list[int]) -> Float[Tensor, "row vocab"]:
        """Read one more token of each row, and return the log-probabilities of what follows: -inf of padding."""
        moment, stack, place = self.moment, self.stack, self.cache.n_positions
        if moment.is_full:
            order = moment.drop_unseen()
            for store in self.stores:
                store.keep(order)
        bias = None
        if stack.position_bias is not None:
            bias = array(stack.position_bias((torch.arange(place + 1) - place)[None])[:, 0])
        moment.go_on(place, self.config.sliding_window, bias)
        if stack.rotary is not None:
            moment.rotation = stack.rotary(place, 1, torch.device("cpu"))
        x = self.embed(tokens, place)
        for block in self.blocks:
            x = block(x)
        if self.ln_final is not None:
            x = self.ln_final(x)
        logits = self.unembed(x * self.config.d_model**-0.5 if self.config.scale_logits else x)
        logits -= logits.max(axis=-1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        if self.config.never_written is not None:
            logits[:, self.config.never_written] = -np.inf
        return torch.from_numpy(logits)

    def reorder(self, rows: list[int]) -> None:
        """Go on with these rows in this order; each stays in its search."""
        if self.moment.n_beams == 1:
            self.cache.reorder(rows)
        else:
            self.moment.reorder(rows)

    def give_back(self) -> None:
        """Bring the cache up to date, for somebody else to go on with."""
        for store in self.stores:
            store.give_back()


def can_be_quick(model: Transformer) -> bool:
    """Return whether nobody looks, nothing is dropped, and all weights lie on the CPU in single precision or double."""
    kinds = {(parameter.device.type, parameter.dtype) for parameter in model.parameters()}
    return (
        not is_anybody_looking()
        and not model.training
        and kinds in ({("cpu", torch.float32)}, {("cpu", torch.float64)})
    )


def _blocks(stack: Stack) -> list[Block]:
    """Return the blocks, as what they are."""
    return [block for block in stack.blocks if isinstance(block, Block)]


def _embed_step(stack: Stack) -> Callable[[list[int], int], Array]:
    """Return what makes the first vector of each row out of its new token and that token's position."""
    weight, scale = array(stack.embed.weight), stack.embed.scale
    table = None if stack.pos_embed is None else array(stack.pos_embed.table)
    norm = None if stack.embedding_norm is None else _norm_step(stack.embedding_norm)

    def step(tokens: list[int], place: int) -> Array:
        x = weight[tokens]
        if scale != 1.0:
            x *= scale
        if table is not None:
            x += table[place]
        return x if norm is None else norm(x)

    return step


def _block_step(
    block: Block, self_store: BeamStore, cross_store: FixedStore, memory_mask: Array | None, moment: Moment
) -> Step:
    """Return the block's sub-layers, each in its residual connection."""
    sublayers = [(_self_attention_step(block.self_attn, self_store, moment), _norm_step(block.ln1))]
    if block.has_cross_attention:
        cross_attention = _cross_attention_step(block.cross_attn, cross_store, memory_mask, moment)
        sublayers.append((cross_attention, _norm_step(block.ln_cross)))
    if block.has_feed_forward:
        n_rows = moment.n_searches * moment.n_beams
        sublayers.append((_feed_forward_step(n_rows, block.mlp), _norm_step(block.ln2)))

    def pre_norm(x: Array) -> Array:
        for sublayer, norm in sublayers:
            x = x + sublayer(norm(x))
        return x

    def post_norm(x: Array) -> Array:
        for sublayer, norm in sublayers:
            x = norm(x + sublayer(x))
        return x

    return pre_norm if block.is_pre_norm else post_norm


def _self_attention_step(attention: MultiHeadAttention, store: BeamStore, moment: Moment) -> Step:
    n_searches, n_beams = moment.n_searches, moment.n_beams
    n_rows = n_searches * n_beams
    project, attend = _linear_step(n_rows, attention.q, attention.k, attention.v), _attend_step(attention, moment)
    q_norm = None if attention.q_norm is None else _norm_step(attention.q_norm)
    k_norm = None if attention.k_norm is None else _norm_step(attention.k_norm)
    n_heads, n_kv_heads, d_head = attention.n_heads, attention.n_kv_heads, attention.d_head

    def step(x: Array) -> Array:
        heads = project(x).reshape(n_rows, -1, 1, d_head)
        q, k = heads[:, :n_heads], heads[:, n_heads : n_heads + n_kv_heads]
        if q_norm is not None and k_norm is not None:
            q, k = q_norm(q), k_norm(k)
        if moment.rotation is not None:
            q, k = (array(moment.rotation.turn(torch.from_numpy(turned))) for turned in (q, k))
        by_beam = (n_searches, n_beams, n_kv_heads, d_head)
        new = store.k_v[:, :, moment.new]  # [search, head, beam, d_head]
        new[:, :n_kv_heads] = k.reshape(by_beam).swapaxes(1, 2)
        new[:, n_kv_heads:] = heads[:, n_heads + n_kv_heads :].reshape(by_beam).swapaxes(1, 2)
        store.store.n_positions = moment.place + 1
        written = store.k_v[:, :, moment.keys]
        return attend(q, written[:, :n_kv_heads], written[:, n_kv_heads:], moment.added)

    return step


def _cross_attention_step(
    attention: MultiHeadAttention, store: FixedStore, memory_mask: Array | None, moment: Moment
) -> Step:
    n_rows, n_beams = moment.n_searches * moment.n_beams, moment.n_beams
    to_q, attend = _linear_step(n_rows, attention.q), _attend_step(attention, moment)
    q_norm = None if attention.q_norm is None else _norm_step(attention.q_norm)
    n_heads, d_head = attention.n_heads, attention.d_head
    k, v = store.kept()
    keys, values = array(k)[::n_beams], array(v)[::n_beams]  # the beams of a search have the same source
    mask = None if memory_mask is None else memory_mask[::n_beams]

    def step(x: Array) -> Array:
        q = to_q(x).reshape(n_rows, n_heads, 1, d_head)
        return attend(q if q_norm is None else q_norm(q), keys, values, mask)

    return step


def _attend_step(attention: MultiHeadAttention, moment: Moment) -> Callable[[Array, Array, Array, Array | None], Array]:
    """Return the sub-layer behind its projections: queries [row, head, 1, d_head], keys and values of each search.

    The last argument is added to the scores: [search or 1, kv_head or 1, beam * group or 1, key].
    """
    n_searches, n_beams, n_kv_heads, d_head = moment.n_searches, moment.n_beams, attention.n_kv_heads, attention.d_head
    scale, group = attention.scale, attention.n_heads // n_kv_heads
    n_rows, width = n_searches * n_beams, attention.n_heads * d_head
    to_out = _linear_step(n_rows, attention.out)
    limits = np.finfo(array(attention.out.weight).dtype)
    lowest, smallest = limits.min, limits.tiny  # in place of -inf and 0 where nothing may be attended to: then z is 0

    def with_numpy(q: Array, keys: Array, values: Array, added: Array | None) -> Array:
        scores = (q * scale) @ keys.swapaxes(2, 3)  # [search, kv_head, beam * group, key]
        if added is not None:
            scores += added
        scores -= np.maximum.reduce(scores, axis=-1, keepdims=True, initial=lowest)
        np.exp(scores, out=scores)
        scores /= np.maximum(np.add.reduce(scores, axis=-1, keepdims=True), smallest)
        return scores @ values

    def with_torch(q: Array, keys: Array, values: Array, added: Array | None) -> Array:
        z = nn.functional.scaled_dot_product_attention(
            torch.from_numpy(q),
            torch.from_numpy(keys),
            torch.from_numpy(values),
            attn_mask=None if added is None else torch.from_numpy(added),
            scale=scale,
        )
        return array(z)

    attend = with_numpy if n_searches * n_kv_heads <= _FEW else with_torch
    by_search, by_beam = (
        (n_searches, n_beams, n_kv_heads, group, d_head),
        (n_searches, n_kv_heads, n_beams, group, d_head),
    )

    def step(q: Array, keys: Array, values: Array, added: Array | None) -> Array:
        grouped = q.reshape(by_search).swapaxes(1, 2).reshape(n_searches, n_kv_heads, n_beams * group, d_head)
        z = attend(grouped, keys, values, added)
        return to_out(z.reshape(by_beam).swapaxes(1, 2).reshape(n_rows, width))

    return step


def _feed_forward_step(n_rows: int, mlp: FeedForward) -> Step:
    up, down, activation = _linear_step(n_rows, mlp.up), _linear_step(n_rows, mlp.down), _activation_step(mlp)
    if not mlp.is_gated:
        return lambda x: down(activation(up(x)))
    gate = _linear_step(n_rows, mlp.gate)
    return lambda x: down(activation(gate(x)) * up(x))


def _activation_step(mlp: FeedForward) -> Step:
    activation = mlp.activation
    if activation is torch.nn.functional.relu:
        return lambda x: np.maximum(x, 0.0, out=x)
    return lambda x: array(activation(torch.from_numpy(x)))


def _linear_step(n_rows: int, *linears: nn.Linear) -> Step:
    """Return what layers make of the same input, side by side."""
    n_products = n_rows * sum(linear.weight.numel() for linear in linears)
    if n_products > _SMALL and len(linears) > 1:
        steps = [_linear_step(n_rows, linear) for linear in linears]
        return lambda x: np.concatenate([step(x) for step in steps], axis=-1)
    biases: list[Tensor | None] = [linear.bias for linear in linears]
    bias = torch.cat([bias for bias in biases if bias is not None]) if biases[0] is not None else None
    weight = torch.cat([linear.weight for linear in linears]) if len(linears) > 1 else linears[0].weight
    if n_products > _SMALL:
        return lambda x: array(nn.functional.linear(torch.from_numpy(x), weight, bias))
    matrix = array(weight.T.contiguous())  # in the order in which it is read
    if bias is None:
        return lambda x: x.dot(matrix)
    added = array(bias)

    def step(x: Array) -> Array:
        y = x.dot(matrix)
        y += added
        return y

    return step


def _norm_step(norm: LayerNorm | RMSNorm) -> Step:
    weight, eps = array(norm.weight), norm.eps
    mean = np.full((len(weight), 1), 1 / len(weight), dtype=weight.dtype)
    if isinstance(norm, RMSNorm):
        return lambda x: x / np.sqrt((x * x) @ mean + eps) * weight
    bias = torch.zeros_like(norm.weight) if norm.bias is None else norm.bias
    added = array(bias)

    def step(x: Array) -> Array:
        centred = x - x @ mean
        centred /= np.sqrt((centred * centred) @ mean + eps)
        centred *= weight
        centred += added
        return centred

    return step
