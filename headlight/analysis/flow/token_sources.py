"""Which tokens does a state come from? Norm-weighted attention, followed from a position down through all layers.

In a sub-layer with attention, a query's new state is a sum: the residual stream, and what each head writes from each
key. A term's share is its norm: ||x|| of the stream, and ||attn_out|| of the attention, which is divided among heads
and keys in proportion to ||alpha v W_O||. Along a path through the layers shares are multiplied. Feed-forward networks
and normalizations act on each position alone, so they move nothing between tokens.

Nothing here needs torch: the first view of a model is shown before torch is loaded.

Source: Kobayashi et al. 2020, "Attention is not only a weight", sec. 2, for the norms; Abnar and Zuidema 2020,
    "Quantifying attention flow in transformers", for the product along paths.
Differs: the stream's share follows from its norm, where Abnar and Zuidema set it to 0.5.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from headlight.analysis.blueprint.shapes import norm_of, written_norms_of
from headlight.analysis.trace.attentions import ATTENTIONS, Attention
from headlight.analysis.trace.residual_stream import StreamPoint, stream_places
from transformer_core.config import ModelConfig

MOST_LINES = 3  # of each attention of a layer
LEAST_SHARE = 0.02  # of a line


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionShares:
    """What one attention of one layer writes, as shares of the new states of its queries."""

    attention: Attention
    layer: int
    shares: Float[np.ndarray, "head query key"]  # sum over heads and keys: the attention's share, in [0, 1]

    @property
    def site(self) -> str:
        """The hook point of its patterns."""
        return self.attention.site(self.layer)


class Line(NamedTuple):
    """What one head writes from a key's position to a query's."""

    step: int  # place of its attention among the `AttentionShares`
    head: int
    query: int
    key: int
    share: float  # of the state that is followed, in [0, 1]


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenSources:
    """Where the final states of a stack come from."""

    tokens: Mapping[str, Float[np.ndarray, "row token"]]  # by side; each row sums to 1 over both sides
    lines: tuple[tuple[Line, ...], ...]  # of each row: the strongest of each attention


def sites(config: ModelConfig) -> tuple[str, ...]:
    """Return the names of all values that `attention_shares` needs, besides the patterns."""
    return tuple(
        site
        for attention, layer, before, after in _attentions(config)
        for site in (written_norms_of(attention.site(layer)), norm_of(before.read), norm_of(str(after.added)))
    )


def attention_shares(config: ModelConfig, values: Callable[[str], np.ndarray]) -> tuple[AttentionShares, ...]:
    """Return the shares of all attentions, in the order of the forward pass; none if a number is not finite.

    Args:
        config: the model's.
        values: returns the value at a hook point, or one of `sites`, without the batch axis.
    """
    results = []
    for attention, layer, before, after in _attentions(config):
        site = attention.site(layer)
        written = values(site) * values(written_norms_of(site))[:, None]  # ||alpha v W_O||
        added, stream = values(norm_of(str(after.added))), values(norm_of(before.read))
        total = written.sum(axis=(0, 2))
        scale = np.divide(added, (added + stream) * total, out=np.zeros_like(total), where=total > 0)
        shares = written * scale[:, None]
        if not np.isfinite(shares).all():
            return ()
        results.append(AttentionShares(attention=attention, layer=layer, shares=shares))
    return tuple(results)


def follow(steps: Sequence[AttentionShares], side: str, n: int) -> TokenSources:
    """Follow the final states of a stack down to the tokens that it reads.

    Args:
        steps: all attentions of the model.
        side: "source" or "target", whose stack it is.
        n: number of its tokens.
    """
    reached: dict[str, np.ndarray] = {side: np.eye(n)}
    lines: list[list[Line]] = [[] for _ in range(n)]
    for place, step in reversed([*enumerate(steps)]):
        queries = reached.get(step.attention.queries_from)
        if queries is None:
            continue
        for row, of_row in enumerate(_strongest(place, step, queries)):
            lines[row] += of_row
        shares = step.shares.sum(axis=0)
        keys = reached.get(step.attention.keys_from, np.zeros((n, shares.shape[1])))
        if step.attention.is_self:
            keys = keys * (1 - shares.sum(axis=1))
        else:
            reached[step.attention.queries_from] = queries * (1 - shares.sum(axis=1))
        reached[step.attention.keys_from] = keys + queries @ shares
    return TokenSources(tokens=reached, lines=tuple(map(tuple, lines)))


def fed_by(steps: Sequence[AttentionShares], side: str, n: int) -> tuple[tuple[Line, ...], ...]:
    """Return, for each token of a side, the strongest lines of each attention from its position to other ones."""
    lines: list[list[Line]] = [[] for _ in range(n)]
    for place, step in enumerate(steps):
        if step.attention.keys_from != side:
            continue
        n_heads, n_queries, _ = step.shares.shape
        shares = step.shares * ~np.eye(n_queries, n, dtype=bool) if step.attention.is_self else step.shares
        of_keys = shares.reshape(n_heads * n_queries, n).T
        for key, best in enumerate(np.argsort(-of_keys, axis=1, kind="stable")[:, :MOST_LINES]):
            for head, query in zip(*np.unravel_index(best, (n_heads, n_queries)), strict=True):
                share = float(shares[head, query, key])
                if share >= LEAST_SHARE:
                    lines[key].append(Line(place, int(head), int(query), key, share))
    return tuple(map(tuple, lines))


def _attentions(config: ModelConfig) -> Iterator[tuple[Attention, int, StreamPoint, StreamPoint]]:
    """Yield each attention and its layer, with the stream before it and after it, in the order of the forward pass."""
    for stack in ("encoder", "decoder"):
        if not ATTENTIONS[stack].n_layers(config):
            continue
        for before, after in pairwise(stream_places(config, stack)):
            _, layer, part = after.name.split(".")
            if part != "mlp":
                yield ATTENTIONS["cross" if part == "cross_attn" else stack], int(layer), before, after


def _strongest(place: int, step: AttentionShares, queries: Float[np.ndarray, "row query"]) -> Iterator[list[Line]]:
    """Yield, for each row, the strongest lines of one attention: its share times that of the query."""
    n_heads, n_queries, n_keys = step.shares.shape
    of_queries = step.shares.swapaxes(0, 1).reshape(n_queries, n_heads * n_keys)
    best = np.argsort(-of_queries, axis=1, kind="stable")[:, :MOST_LINES]  # of a row's strongest, none is beyond these
    shares = queries[:, :, None] * np.take_along_axis(of_queries, best, axis=1)  # [row, query, line]
    flat = shares.reshape(len(queries), -1)
    for row, order in enumerate(np.argsort(-flat, axis=1, kind="stable")[:, :MOST_LINES]):
        lines = []
        for at in order:
            query, column = divmod(int(at), best.shape[1])
            head, key = divmod(int(best[query, column]), n_keys)
            if flat[row, at] >= LEAST_SHARE:
                lines.append(Line(place, head, query, key, float(flat[row, at])))
        yield lines
