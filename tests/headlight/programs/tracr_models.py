"""Two models as Tracr compiles them, written by hand after its published construction, block by block.

They differ from ours in what a circuit is counted in: there is no <eos>, feed-forward networks have no biases but read
a constant 1 from the residual stream, which each token writes, and the output is a subspace of the stream itself.

Source: Lindner et al. 2023, "Tracr", and `tracr/craft/chamber` at 9ce2b8c; the programs and sizes are those of Miller
et al. 2024 (auto-circuit, `tracr_model_utils.py`).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate

import torch

import transformer_core as tc
from transformer_core.model.block import Block
from transformer_core.model.transformer import assemble

N, COLD, LARGE = 5, 100.0, 100.0  # longest input; scores of selected keys; steepness of steps over numbers

Places = Mapping[str, range]
Unit = tuple[Mapping[int, float], Mapping[int, float]]  # what a hidden unit reads and writes, by direction


def places_of(**widths: int) -> Places:
    """The directions of each subspace."""
    ends = accumulate(widths.values())
    return {name: range(end - width, end) for (name, width), end in zip(widths.items(), ends, strict=True)}


def model_of(places: Places, n_tokens: int, n_layers: int, d_ff: int) -> tc.Transformer:
    """A model whose tokens (<bos> is the last) and positions are one-hot; all else is 0."""
    d_model = max(place.stop for place in places.values())
    config = tc.ModelConfig(
        architecture="encoder_only",
        vocab_size=n_tokens + 1,
        d_model=d_model,
        d_ff=d_ff,
        n_heads=1,
        d_head=d_model,
        n_encoder_layers=n_layers,
        n_decoder_layers=0,
        max_seq_len=N + 1,
        positions="learned",
        norm="none",
        norm_position="pre",
        attention_bias="none",
        feed_forward_bias=False,
        scale_scores=False,
        scale_embeddings=False,
        tie_embeddings="none",
        pad_id=None,
        bos_id=n_tokens,
        eos_id=n_tokens,
    )
    model = assemble(config, device="cpu").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        embed, table = model.get_parameter("encoder.embed.weight"), model.get_parameter("encoder.pos_embed.table")
        embed[range(n_tokens + 1), places["token"]] = 1
        embed[:, places["one"]] = 1
        table[range(1, N + 1), places["index"]] = 1
    return model


@torch.no_grad()
def write_head(
    model: tc.Transformer, layer: int, scores: Sequence[tuple[int, int, float]], copies: Sequence[tuple[int, int]]
) -> None:
    """Let the head of a layer score pairs of directions (query, key, score), and copy a direction to another one."""
    attention = block_of(model, layer).self_attn
    attention.k.weight.copy_(torch.eye(model.config.d_model))
    attention.out.weight.copy_(torch.eye(model.config.d_model))
    for query, key, score in scores:
        attention.q.weight[key, query] += score
    for read, written in copies:
        attention.v.weight[written, read] = 1


@torch.no_grad()
def write_units(model: tc.Transformer, layer: int, units: Sequence[Unit]) -> None:
    """Write hidden units of a layer."""
    mlp = block_of(model, layer).mlp
    for i, (reads, writes) in enumerate(units):
        mlp.up.weight[i, [*reads]] = torch.tensor([*reads.values()])
        mlp.down.weight[[*writes], i] = torch.tensor([*writes.values()])


def block_of(model: tc.Transformer, layer: int) -> Block:
    """A layer."""
    block = model.get_submodule(f"encoder.blocks.{layer}")
    assert isinstance(block, Block)
    return block


@cache
def tracr_reverse(n_tokens: int = 3) -> tc.Transformer:
    """`reverse`: tokens 0, 1, ..., with <bos> the last; the logits at each token are one-hot.

    length = selector_width(all); difference = length - indices; opposite = difference - 1; then the token there: blocks
    A1 M12 M30 M10 A1 (heads, hidden units).
    """
    at = places_of(
        token=n_tokens + 1, index=N, one=1, share=1, length=N + 1, difference=2 * N, opposite=2 * N, output=n_tokens
    )
    model = model_of(at, n_tokens, n_layers=4, d_ff=N * (N + 1))
    (*tokens, bos), (one,), (share,), length = at["token"], at["one"], at["share"], at["length"]
    # every token selects every token, and <bos> besides, of which the share 1 / (1 + n) is written
    write_head(
        model, 0, [*((query, key, COLD) for query in tokens for key in tokens), (one, bos, COLD)], [(bos, share)]
    )
    # relu(L (x - t) + 1) - relu(L (x - t)) is the step at t; up to the first one the length is the longest
    units: list[Unit] = [({one: 1.0}, {length[N]: 1.0})]
    for n in range(N, 0, -1):
        middle = (1 / (1 + n) + 1 / n) / 2
        for sign, shift in ((1.0, 1.0), (-1.0, 0.0)):
            units.append(({share: LARGE, one: shift - LARGE * middle}, {length[n]: -sign, length[n - 1]: sign}))
    units.append(({bos: 1.0}, {share: -1.0, length[0]: -1.0}))  # nothing stays at <bos>
    write_units(model, 0, units)
    pairs = [(n, i) for n in range(N + 1) for i in range(N)]  # n - i, from 1 - N to N
    both = [{length[n]: 1.0, at["index"][i]: 1.0, one: -1.0} for n, i in pairs]
    write_units(
        model, 1, [(reads, {at["difference"][n - i + N - 1]: 1.0}) for reads, (n, i) in zip(both, pairs, strict=True)]
    )
    # one less, from -N to N - 1: the place of a value is the same
    write_units(model, 2, [({a: 1.0}, {b: 1.0}) for a, b in zip(at["difference"], at["opposite"], strict=True)])
    equal = [(at["opposite"][i + N], at["index"][i], COLD) for i in range(N)]
    write_head(model, 3, [*equal, (one, bos, COLD / 2)], [*zip(tokens, at["output"], strict=True)])
    with torch.no_grad():
        model.get_parameter("unembed.weight")[range(n_tokens), at["output"]] = 1
    return model


@cache
def tracr_xproportion(n_tokens: int = 4) -> tc.Transformer:
    """`xproportion`: the share of token 0 up to each token is the logit of token 0; <bos> is the last token.

    is_x = tokens == "x"; then the mean over the indices up to the query's: blocks M1 A1.
    """
    at = places_of(token=n_tokens + 1, index=N, one=1, is_x=1, output=1)
    model = model_of(at, n_tokens, n_layers=2, d_ff=1)
    (x, *_, bos), (one,), (is_x,), (output,) = at["token"], at["one"], at["is_x"], at["output"]
    write_units(model, 0, [({x: 1.0}, {is_x: 1.0})])
    earlier = [(at["index"][query], at["index"][key], COLD) for query in range(N) for key in range(query + 1)]
    write_head(model, 1, [*earlier, (one, bos, COLD / 2)], [(is_x, output)])
    with torch.no_grad():
        model.get_parameter("unembed.weight")[0, output] = 1
    return model
