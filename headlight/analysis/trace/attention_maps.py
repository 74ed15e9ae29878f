"""The patterns of one attention of a model on one text, for every head, computed on demand.

For a short text all patterns are materialized on first use. For a long one they would be larger than the model: then
only queries and keys are kept, and any head, window, row or overview is computed from them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.analysis.texts.units import sink_keys
from headlight.analysis.trace.cells import strongest_cells
from transformer_core.cached_property import cached_property
from transformer_core.errors import SiteError
from transformer_core.instrument.lazy import LazyPattern
from transformer_core.instrument.pooling import Overview, block_ends
from transformer_core.model.attention import MultiHeadAttention, PatternInputs

WRITTEN_OUT_BYTES = 32 << 20  # size of all patterns of an attention up to which they are materialized
_CHUNK_CELLS = 4 << 20  # size of one head's rows that are yielded at a time


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledHeads:
    """All heads of an attention as small pictures, and the strongest cell of each."""

    patterns: Float[np.ndarray, "layer head row column"]  # the largest weight of each block of queries and keys
    mask: Bool[np.ndarray, "layer row column"]  # True: some query of the block may attend to some key of it
    queries: Int[np.ndarray, "layer head"]  # of the strongest cell among queries with a choice
    keys: Int[np.ndarray, "layer head"]
    weights: Float[np.ndarray, "layer head"]

    @classmethod
    def of(cls, patterns: np.ndarray, mask: np.ndarray, *strongest: np.ndarray) -> "PooledHeads":
        """Return the pictures, and the strongest cells as queries, keys and weights."""
        queries, keys, weights = strongest
        return cls(patterns=patterns, mask=mask, queries=queries, keys=keys, weights=weights)


class AttentionMaps:
    """The patterns of one attention [layer, head, query, key], with the underlying queries, keys and values.

    Attributes:
        shape: layers, heads, queries, keys.
        has_values: scores and values are there too, not only the patterns.
        value_norms: the length of each value vector, ||v||, [layer, head, key]; NaN without values.
        written_norms: the length of what each value would write to the residual stream, ||v W_O||, [layer, head, key];
            NaN without values.
    """

    def __init__(
        self,
        patterns: Sequence[LazyPattern],
        values: Sequence[Tensor] = (),
        modules: Sequence[MultiHeadAttention] = (),
    ) -> None:
        """Store the captured activations of one text, layer by layer.

        Args:
            patterns: captured lazily; of several texts, only the first is used.
            values: [batch, kv_head, key, d_head], captured at `hook_v`; none where they are not known.
            modules: the attentions themselves, for W_O; none likewise.
        """
        self._layers = tuple(patterns)
        self.shape: tuple[int, int, int, int] = (len(patterns), *patterns[0].shape[1:])
        self._kept: dict[int, PooledHeads] = {}  # overviews by their side
        self.has_values = bool(values)
        of = [*zip((v[0] for v in values), modules, strict=True)]
        unknown = np.full((*self.shape[:2], self.shape[3]), np.nan, dtype=np.float32)
        lengths = [_array(_of_each_head(v, module).norm(dim=-1)) for v, module in of]
        self.value_norms = np.stack(lengths) if of else unknown
        self.written_norms = np.stack([_array(written_norms(v, module)) for v, module in of]) if of else unknown

    @classmethod
    def of_arrays(cls, patterns: Float[np.ndarray, "layer head query key"]) -> "AttentionMaps":
        """Return the maps of patterns that another library computed, without scores and values.

        A cell counts as masked if its weight is 0 in all heads of its layer.
        """
        layers = []
        for weights in torch.from_numpy(patterns).split(1):  # [1, head, query, key]
            n_queries, n_keys = weights.shape[2:]
            q, k = (weights.new_zeros(1, weights.shape[1], n, 1) for n in (n_queries, n_keys))  # give the shape
            mask = (weights != 0).any(dim=1, keepdim=True)
            inputs = PatternInputs(q=q, k=k, mask=mask, bias=None, scale=1.0, cap=None, pattern=weights)
            layers.append(LazyPattern(inputs))
        return cls(layers)

    @property
    def is_short(self) -> bool:
        """Whether all patterns are small enough to be materialized."""
        return 4 * int(np.prod(self.shape)) <= WRITTEN_OUT_BYTES

    @property
    def n_bytes(self) -> int:
        """Memory that is kept, or will be after the first use, in bytes."""
        written = 4 * int(np.prod(self.shape)) if self.is_short else 0
        pictures = 0 if self.is_short else sum(overview.patterns.nbytes for overview in self._kept.values())
        kept = sum(layer.n_bytes for layer in self._layers)
        return kept + written + pictures + self.value_norms.nbytes + self.written_norms.nbytes

    def full(self) -> Float[np.ndarray, "layer head query key"]:
        """Return every pattern; each row over `key` sums to 1, or is all 0 where nothing may be attended to."""
        return self._written if self.is_short else self._write_out()

    @torch.inference_mode()
    def pattern(
        self, layer: int, head: int, queries: slice = slice(None), keys: slice = slice(None)
    ) -> Float[np.ndarray, "query key"]:
        """Return some rows and columns of one head's pattern.

        Raises:
            SiteError: a layer or a head that is not there.
        """
        pattern = self._layer(layer)
        if self.is_short and 0 <= head < self.shape[1]:
            return self._written[layer, head, queries, keys]
        return _array(pattern.window(head, queries, keys))

    @torch.inference_mode()
    def scores(
        self, layer: int, head: int, queries: slice = slice(None), keys: slice = slice(None)
    ) -> Float[np.ndarray, "query key"]:
        """Return some rows and columns of one head's scores before the softmax, -inf where the mask forbids.

        Raises:
            SiteError: a layer or a head that is not there, or a pattern that was edited.
        """
        return _array(self._layer(layer).scores_window(head, queries, keys))

    def mask(
        self, layer: int, queries: slice = slice(None), keys: slice = slice(None)
    ) -> Bool[np.ndarray, "query key"]:
        """Return some rows and columns of a layer's mask, True = may attend.

        Raises:
            SiteError: a layer that is not there.
        """
        return self._layer(layer).mask_window(0, queries, keys).cpu().numpy()

    @property
    def masks(self) -> Bool[np.ndarray, "layer query key"]:
        """The materialized masks of all layers, for short texts."""
        return np.stack([self.mask(layer) for layer in range(self.shape[0])])

    @torch.inference_mode()
    def row(self, query: int) -> Float[np.ndarray, "layer head key"]:
        """Return the attention of one query in every head."""
        if self.is_short:
            return self._written[:, :, query]
        rows = np.zeros((*self.shape[:2], self.shape[3]), dtype=np.float32)
        for layer, pattern in enumerate(self._layers):
            for _, keys, part in pattern.chunks(queries=slice(query, query + 1)):
                rows[layer, :, keys] = _array(part[:, 0])
        return rows

    def cell(self, query: int, key: int) -> Float[np.ndarray, "layer head"]:
        """Return the weight between one query and one key, in every head."""
        return self.row(query)[:, :, key]

    @torch.inference_mode()
    def chunks(
        self, layer: int
    ) -> Iterator[tuple[slice, Float[np.ndarray, "head query key"], Bool[np.ndarray, "query key"]]]:
        """Yield the patterns and the mask of a layer, some queries at a time, in their order."""
        n_keys = self.shape[3]
        for queries, keys, part in self._layer(layer).chunks():
            rows = np.zeros((self.shape[1], queries.stop - queries.start, n_keys), dtype=np.float32)
            rows[:, :, keys] = _array(part)
            yield queries, rows, self.mask(layer, queries)

    def keep_overview(self, side: int) -> None:
        """Compute the overview of that side length now, so that it is ready at the first request."""
        self._kept[side] = self.overview(side)

    @torch.inference_mode()
    def overview(self, side: int) -> PooledHeads:
        """Return every head as a picture of at most this many rows and columns."""
        if side in self._kept:
            return self._kept[side]
        size = (min(side, self.shape[2]), min(side, self.shape[3]))
        mask = np.stack([self._pooled_mask(layer, size) for layer in range(self.shape[0])])
        if self.is_short and size == self.shape[2:]:
            return PooledHeads.of(self._written, mask, *strongest_cells(self._written, mask[:, None]))
        n_layers, n_heads, n_queries, n_keys = self.shape
        patterns = np.zeros((n_layers, n_heads, *size), dtype=np.float32)
        strongest = _Strongest(n_layers, n_heads)
        for layer, pattern in enumerate(self._layers):
            for heads in pattern.few_at_a_time():
                shape = (len(heads), n_queries, n_keys)
                overview = Overview(shape, size, "max", dtype=torch.float32, device=torch.device("cpu"))
                for queries, keys, part in pattern.chunks(heads=heads):
                    rows = part.float().cpu()
                    overview.add(rows, queries, keys)
                    strongest.add(layer, heads, rows, self._has_choice[layer, queries], queries.start, keys.start)
                patterns[layer, list(heads)] = overview.finished().numpy()
        return PooledHeads.of(patterns, mask, strongest.queries, strongest.keys, strongest.weights)

    @torch.inference_mode()
    def pooled(self, layer: int, head: int, side: int) -> tuple[np.ndarray, Bool[np.ndarray, "row column"]]:
        """Return one head's pattern [row, column] with the largest weight of each block, and the blocks' mask."""
        size = (min(side, self.shape[2]), min(side, self.shape[3]))
        return _array(self._layer(layer).pooled(size, "max", [head])[0]), self._pooled_mask(layer, size)

    @cached_property
    def mean_by_layer(self) -> Float[np.ndarray, "layer query key"]:
        """The mean over the heads of each layer; for short texts only, as all layers are in memory at once."""
        return self.full().mean(axis=1)

    @cached_property
    def sinks(self) -> Bool[np.ndarray, " key"]:
        """Which keys are attention sinks in the mean over all heads and layers.

        A query may attend to a key if any layer allows it.
        """
        mean, mask = np.zeros(self.shape[2:], dtype=np.float32), np.zeros(self.shape[2:], dtype=bool)
        for layer in range(self.shape[0]):
            for queries, rows, allowed in self.chunks(layer):
                mean[queries] += rows.mean(axis=0) / self.shape[0]
                mask[queries] |= allowed
        return sink_keys(mean, mask)

    @cached_property
    def _written(self) -> Float[np.ndarray, "layer head query key"]:
        return self._write_out()

    @torch.inference_mode()
    def _write_out(self) -> Float[np.ndarray, "layer head query key"]:
        return np.stack([_array(pattern.full()[0]) for pattern in self._layers])

    @cached_property
    def _has_choice(self) -> Tensor:
        """Which queries may attend to at least two keys, [layer, query]; all queries of a layer where none may."""
        step = max(1, _CHUNK_CELLS // self.shape[3])
        chunks = [slice(first, first + step) for first in range(0, self.shape[2], step)]
        has_choice = np.stack(
            [
                np.concatenate([self.mask(layer, queries).sum(axis=-1) >= 2 for queries in chunks])
                for layer in range(self.shape[0])
            ]
        )
        return torch.from_numpy(has_choice | ~has_choice.any(axis=1, keepdims=True))

    def _pooled_mask(self, layer: int, size: tuple[int, int]) -> Bool[np.ndarray, "row column"]:
        rows, columns = (block_ends(n, n_blocks) for n, n_blocks in zip(self.shape[2:], size, strict=True))
        starts = [0, *columns[:-1]]
        return np.stack(
            [
                np.logical_or.reduceat(self.mask(layer, slice(first, end)).any(axis=0), starts)
                for first, end in zip([0, *rows[:-1]], rows, strict=True)
            ]
        )

    def _layer(self, layer: int) -> LazyPattern:
        if not 0 <= layer < len(self._layers):
            raise SiteError(
                "there is no layer {layer} in this attention; the last is {last}",
                layer=layer,
                last=len(self._layers) - 1,
            )
        return self._layers[layer]


class _Strongest:
    """The strongest cell of each head, updated row by row; of equal cells, the first in reading order."""

    def __init__(self, n_layers: int, n_heads: int) -> None:
        self.queries, self.keys = np.zeros((2, n_layers, n_heads), dtype=np.int64)
        self.weights = np.full((n_layers, n_heads), -1.0, dtype=np.float32)

    def add(
        self,
        layer: int,
        heads: Sequence[int],
        rows: Float[Tensor, "head query key"],
        counts: Tensor,
        first_query: int,
        first_key: int,
    ) -> None:
        """Update the strongest cells with new rows of some heads; queries that do not count are skipped."""
        highest = rows.amax(dim=2).masked_fill_(~counts, -1.0).max(dim=1)
        is_better = highest.values > torch.from_numpy(self.weights[layer, list(heads)])
        for place in is_better.nonzero()[:, 0].tolist():  # only for these, as the search for the key is slow
            query, head = int(highest.indices[place]), heads[place]
            self.weights[layer, head] = highest.values[place]
            self.queries[layer, head] = first_query + query
            self.keys[layer, head] = first_key + int(rows[place, query].argmax())


@torch.inference_mode()
def written_norms(v: Float[Tensor, "kv_head key d_head"], module: MultiHeadAttention) -> Float[Tensor, "head key"]:
    """Return ||v W_O|| of each head and key: the length of what a value would write to the residual stream.

    Args:
        v: captured at `hook_v`.
        module: the attention itself, for W_O.

    Source: Kobayashi et al. 2020, "Attention is not only a weight", sec. 2: the length of the transformed vector.
    """
    v = _of_each_head(v, module)
    w_o = (
        module.out.weight.float().unflatten(1, (module.n_heads, module.d_head)).permute(1, 2, 0)
    )  # head d_head d_model
    gram = w_o @ w_o.transpose(1, 2)  # [head, d_head, d_head]: |v W|^2 = v (W W^T) v^T, with far fewer products
    return ((v @ gram) * v).sum(dim=-1).clamp_min(0).sqrt()


def _of_each_head(v: Tensor, module: MultiHeadAttention) -> Tensor:
    """[kv_head, key, d_head] -> [head, key, d_head]."""
    return v.float().repeat_interleave(module.n_heads // module.n_kv_heads, dim=0)


def _array(tensor: Tensor) -> np.ndarray:
    """Return a float32 array, wherever and in whatever precision the tensor is."""
    return tensor.float().cpu().numpy()
