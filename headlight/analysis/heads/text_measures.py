"""Every head of one text in a few numbers, which order an overview of heads, or tint it.

They are worked out from some rows at a time: of a text of four thousand tokens nobody ever holds all patterns.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from headlight.analysis.trace.attentions import ATTENTIONS
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number that each head has on a text, as a menu offers it."""

    name: str
    title: str
    inline: str  # the title within a sentence
    unit: str  # "" for shares
    meaning: str  # what a high and what a low number say
    of_self_attention: bool = False  # whether it has a meaning only there

    def applies(self, attention: str) -> bool:
        """Return whether it has a meaning for an attention, by its name in ATTENTIONS."""
        return is_self_attention(attention) or not self.of_self_attention

    def range(self, n_keys: int) -> tuple[float, float]:
        """Return the lowest and the highest possible number on a text with n keys."""
        highest = {"entropy": log(max(n_keys, 1)), "distance": float(max(n_keys - 1, 0))}
        return 0.0, highest.get(self.name, 1.0)


MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure(
            name="entropy",
            title=mark("Attention entropy"),
            inline=mark("attention entropy"),
            unit=mark("nats"),
            meaning=mark("High: the head spreads its attention over many tokens; low: it focuses on a few."),
        ),
        Measure(
            name="distance",
            title=mark("Attention distance"),
            inline=mark("attention distance"),
            unit=mark("tokens"),
            meaning=mark("High: the head attends to distant tokens; low: to nearby ones."),
            of_self_attention=True,
        ),
        Measure(
            name="diagonality",
            title=mark("Diagonality"),
            inline=mark("diagonality"),
            unit="",
            meaning=mark(
                "1: all attention is on the diagonal; 0: it is no closer to the diagonal than uniform attention."
            ),
        ),
        Measure(
            name="first",
            title=mark("First-token attention"),
            inline=mark("first-token attention"),
            unit="",
            meaning=mark("High: the first token is an attention sink for this head; low: it is not."),
        ),
        Measure(
            name="special",
            title=mark("Special-token attention"),
            inline=mark("special-token attention"),
            unit="",
            meaning=mark("High: the head attends to special tokens such as <bos> or [SEP]; low: to the text."),
        ),
        Measure(
            name="previous",
            title=mark("Previous-token score"),
            inline=mark("previous-token score"),
            unit="",
            meaning=mark("High: each token attends to the one before it; low: it attends elsewhere."),
            of_self_attention=True,
        ),
        Measure(
            name="induction",
            title=mark("Induction score"),
            inline=mark("induction score"),
            unit="",
            meaning=mark(
                "High: at a repeated token, the head attends to the token after an earlier occurrence; low: elsewhere."
            ),
            of_self_attention=True,
        ),
    )
}
"""In the order of menus. All are means over the queries of a text; `TextMeasures` says over which."""


@runtime_checkable
class InChunks(Protocol):
    """An attention of one text whose patterns can be had some rows at a time."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Layers, heads, queries, keys."""

    def chunks(
        self, layer: int
    ) -> Iterator[tuple[slice, Float[np.ndarray, "head query key"], Bool[np.ndarray, "query key"]]]:
        """Yield all rows of a layer: which queries, their patterns, and their mask."""


class TextMeasures:
    """Measures heads, as the rows of their patterns come.

    Entropy, distance and diagonality are means over the queries with a choice, which may look at two keys or more. The
    share on the first token is that of queries which may look at it, the share on special tokens that of queries
    which may look at one, both with a choice. In self-attention the first two tokens do not count for the share on
    the first token and on the one before, as they have no other. The share on what came after the same token before,
    induction, is that of queries whose token occurred before, but for special ones, and which may look after it.

    Args:
        n_heads: of which rows will come; of one layer, or of all.
        n_queries: of the whole text.
        special_keys: True = the key is no text.
        is_self: whether queries and keys are the same tokens.
        ids: of the queries' tokens; None: not known, and induction is not measured.

    Source of induction: Olsson et al. 2022, "In-context learning and induction heads", prefix matching.
    Differs: they measure on random tokens that are repeated as a whole; here any text will do.
    """

    def __init__(
        self,
        n_heads: int,
        n_queries: int,
        special_keys: Bool[np.ndarray, " key"],
        *,
        is_self: bool,
        ids: Int[np.ndarray, " query"] | None = None,
    ) -> None:
        self._n_queries, self._special, self._is_self = n_queries, special_keys, is_self
        self._ids = ids if is_self else None
        measurable = [name for name in MEASURES if name != "induction" or ids is not None]
        self._names = [name for name in measurable if is_self or not MEASURES[name].of_self_attention]
        self._sums = {name: np.zeros(n_heads) for name in self._names}
        self._counts = dict.fromkeys(self._names, 0)
        self._even = 0.0  # the sum over queries of the closeness that evenly spread attention has

    def add(
        self, rows: Float[np.ndarray, "head query key"], mask: Bool[np.ndarray, "query key"], first_query: int
    ) -> None:
        """Take some rows in.

        Args:
            rows: attention weights of neighbouring queries that were not added before.
            mask: of these queries, True = may attend.
            first_query: which query the first row is.
        """
        n_allowed = mask.sum(axis=1)
        has_choice = n_allowed >= 2
        queries = np.arange(first_query, first_query + len(mask))
        weights = self._weights(mask, has_choice, queries)
        cells = np.stack([of_cells * counts[:, None] for of_cells, counts in weights.values()]).astype(rows.dtype)
        n_seen = int(np.flatnonzero(mask.any(axis=0)).max(initial=-1)) + 1  # after these keys, all is 0
        rows, cells = rows[..., :n_seen], cells[..., :n_seen]
        sums = rows.reshape(len(rows), -1) @ cells.reshape(len(cells), -1).T  # [head, measure]
        for (name, (_, counts)), of_heads in zip(weights.items(), sums.T, strict=True):
            self._sums[name] += of_heads
            self._counts[name] += int(counts.sum())
        self._sums["entropy"] += _entropies(rows)[:, has_choice].sum(axis=1)
        self._counts["entropy"] += int(has_choice.sum())
        even = (weights["diagonality"][0] * mask).sum(axis=1) / np.maximum(n_allowed, 1)
        self._even += float(even[has_choice].sum())

    def finished(self) -> dict[str, Float[np.ndarray, " head"]]:
        """Return each measure by its name in MEASURES; NaN where the text gives nothing to measure."""
        means = {
            name: np.divide(self._sums[name], count) if (count := self._counts[name]) else self._sums[name] + np.nan
            for name in self._names
        }
        if count := self._counts["diagonality"]:
            even = self._even / count
            means["diagonality"] = ((means["diagonality"] - even) / (1 - even)).clip(0, 1)
        return means

    def _weights(
        self, mask: Bool[np.ndarray, "query key"], has_choice: Bool[np.ndarray, " query"], queries: np.ndarray
    ) -> dict[str, tuple[np.ndarray, Bool[np.ndarray, " query"]]]:
        """Return, of the measures that are sums of weighted attention, the weights, and which queries count."""
        keys = np.arange(mask.shape[1])
        has_other = queries >= 2 if self._is_self else has_choice
        weights = {
            "diagonality": (closeness(queries, keys, mask, self._n_queries), has_choice),
            "first": (np.broadcast_to(keys == 0, mask.shape), has_other & mask[:, 0]),
            "special": (
                np.broadcast_to(self._special, mask.shape),
                has_choice & (mask & self._special).any(axis=1),
            ),
        }
        if self._is_self:
            before = keys == queries[:, None] - 1
            weights["distance"] = (np.abs(keys - queries[:, None]), has_choice)
            weights["previous"] = (before, has_other & (mask & before).any(axis=1))
        if self._ids is not None:
            after_same = after_same_token(self._ids, self._special, queries) & mask
            weights["induction"] = (after_same, after_same.any(axis=1))
        return weights


def measure_text(
    attention_maps: InChunks,
    special_keys: Bool[np.ndarray, " key"],
    *,
    attention: str,
    ids: Int[np.ndarray, " query"] | None = None,
) -> dict[str, Float[np.ndarray, "layer head"]]:
    """Measure all heads of an attention on a text.

    Args:
        attention_maps: their patterns.
        special_keys: True = the key is no text, but a token such as <bos> or [SEP].
        attention: its name in ATTENTIONS.
        ids: of the queries' tokens; None: not known, and induction is not measured.

    Returns:
        By their names, the measures that apply to this attention; NaN where the text gives nothing to measure, such as
        one without special tokens.
    """
    n_layers, n_heads, n_queries, _ = attention_maps.shape
    by_layer = []
    for layer in range(n_layers):
        measures = TextMeasures(n_heads, n_queries, special_keys, is_self=is_self_attention(attention), ids=ids)
        for queries, rows, mask in attention_maps.chunks(layer):
            measures.add(rows, mask, queries.start)
        by_layer.append(measures.finished())
    return {
        name: np.stack([layer_measures[name] for layer_measures in by_layer])
        for name in MEASURES
        if name in by_layer[0]
    }


def measure_run(run: "ModelRun") -> dict[str, dict[str, Float[np.ndarray, "layer head"]]]:
    """Measure all heads of a model on the text of a run; return the measures by name, by name of attention."""
    measures = {}
    for name, attention_maps in run.attention_maps.items():
        special = np.array(run.sides(name)["special"][1], dtype=bool)
        ids = np.array(run.inputs[0 if ATTENTIONS[name].queries_from == "source" else -1])
        measures[name] = measure_text(attention_maps, special, attention=name, ids=ids)
    return measures


def is_self_attention(attention: str) -> bool:
    """Return whether an attention, by its name in ATTENTIONS, has queries and keys from the same tokens."""
    return ATTENTIONS[attention].queries_from == ATTENTIONS[attention].keys_from


def after_same_token(
    ids: Int[np.ndarray, " pos"], special: Bool[np.ndarray, " pos"], queries: Int[np.ndarray, " query"]
) -> Bool[np.ndarray, "query pos"]:
    """Return, for some queries of a text, the places right after the earlier occurrences of their token.

    The same cells as those of `habits.induction_cells`, for some rows at a time.

    Args:
        ids: of the tokens of a text.
        special: True = the token says nothing: that it comes again is no repetition.
        queries: positions of the queries.
    """
    is_same = (ids[queries, None] == ids[:-1]) & ~special[queries, None]
    is_earlier = np.arange(len(ids) - 1) < queries[:, None]
    return np.pad(is_same & is_earlier, ((0, 0), (1, 0)))


def closeness(
    queries: Int[np.ndarray, "*orders query"],
    keys: Int[np.ndarray, "*orders key"],
    mask: Bool[np.ndarray, "query key"],
    n_queries: int,
) -> Float[np.ndarray, "*orders query key"]:
    """Return how near each key is to the diagonal: 1 on it, 0 at the farthest key that the query may look at.

    Diagonality is (D - U) / (1 - U), where D is the mean closeness weighted by attention, and U that of uniform
    attention; the formula and its source are in `measured_texts.diagonal_weights`.

    Args:
        queries: positions of the queries. Of m keys, the one on the diagonal of query i of n is at
            i (m - 1) / (n - 1), rounded.
        keys: positions of all keys.
        mask: of these queries and keys, True = may attend.
        n_queries: of the whole text.
    """
    diagonal = np.rint(queries * (keys.shape[-1] - 1) / max(n_queries - 1, 1))
    distance = np.abs(keys[..., None, :] - diagonal[..., None])
    farthest = np.where(mask, distance, 0).max(axis=-1, keepdims=True)
    return 1 - distance / np.maximum(farthest, 1)


def _entropies(rows: Float[np.ndarray, "head query key"]) -> Float[np.ndarray, "head query"]:
    """Return the entropy of each row over `key`, - sum p log p, in nats."""
    logs = np.maximum(rows, np.finfo(rows.dtype).tiny)  # of 0, any number: 0 times it is 0
    return -np.einsum("hqk,hqk->hq", rows, np.log(logs, out=logs))
