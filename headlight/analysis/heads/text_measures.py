"""A few numbers for every head on one text, which sort or colour an overview of heads.

They are computed from a few rows at a time: all patterns of a text of four thousand tokens are never in memory at once.
"""

from math import log
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from headlight.analysis.flow.divergence import has_choice
from headlight.analysis.heads.habits import closeness, induction_cells
from headlight.analysis.trace.attentions import ATTENTIONS

if TYPE_CHECKING:
    from headlight.analysis.trace.attention_maps import AttentionMaps
    from headlight.analysis.trace.model_run import ModelRun

MEASURES = ("entropy", "distance", "diagonality", "first", "special", "previous", "induction")
"""In the order of menus; all are means over the queries of a text, and `measure_text` says over which."""

_OF_SELF_ATTENTION = ("distance", "previous", "induction")  # they apply only there


def applies(measure: str, attention: str) -> bool:
    """Return whether a measure applies to an attention, given by its name in ATTENTIONS."""
    return ATTENTIONS[attention].is_self or measure not in _OF_SELF_ATTENTION


def range_of(measure: str, n_keys: int) -> tuple[float, float]:
    """Return the lowest and the highest possible number on a text with n keys."""
    highest = {"entropy": log(max(n_keys, 1)), "distance": float(max(n_keys - 1, 0))}
    return 0.0, highest.get(measure, 1.0)


def measure_text(
    attention_maps: "AttentionMaps",
    special_keys: Bool[np.ndarray, " key"],
    *,
    attention: str,
    ids: Int[np.ndarray, " query"] | None = None,
) -> dict[str, Float[np.ndarray, "layer head"]]:
    """Measure all heads of an attention on a text.

    Entropy, distance and diagonality are means over the queries with a choice, which may look at two keys or more. The
    share on the first token is that of queries which may look at it, the share on special tokens that of queries
    which may look at one, both with a choice. In self-attention the first two tokens do not count for the share on
    the first token and on the one before, as they have no other. The share on what came after the same token before,
    induction, is that of queries whose token occurred before, but for special ones, and which may look after it.

    Args:
        attention_maps: their patterns.
        special_keys: True = the key is no text, but a token such as <bos> or [SEP].
        attention: its name in ATTENTIONS.
        ids: of the queries' tokens; None: not known, and induction is not measured.

    Returns:
        The measures that apply to this attention, by name; NaN where the text gives nothing to measure, for example
        because it has no special tokens.

    Source of induction: Olsson et al. 2022, "In-context learning and induction heads", prefix matching.
    Differs: they measure on random tokens that are repeated as a whole; here any text will do.
    """
    n_layers, n_heads = attention_maps.shape[:2]
    names = [name for name in MEASURES if applies(name, attention) and (name != "induction" or ids is not None)]
    means = {name: np.full((n_layers, n_heads), np.nan) for name in names}
    for layer in range(n_layers):
        sums, counts, even = {name: np.zeros(n_heads) for name in names}, dict.fromkeys(names, 0), 0.0
        for queries, rows, mask in attention_maps.chunks(layer):
            weights = _weights(mask, queries, special_keys, attention, attention_maps.shape[2], ids)
            n_seen = int(np.flatnonzero(mask.any(axis=0)).max(initial=-1)) + 1  # beyond these keys, all weights are 0
            cells = np.stack([(of_cells * counted[:, None])[:, :n_seen] for of_cells, counted in weights.values()])
            seen = rows[..., :n_seen]
            weighted = seen.reshape(n_heads, -1) @ cells.reshape(len(cells), -1).astype(rows.dtype).T  # [head, measure]
            for (name, (_, counted)), of_heads in zip(weights.items(), weighted.T, strict=True):
                sums[name] += of_heads
                counts[name] += int(counted.sum())
            closest, chosen = weights["diagonality"]
            sums["entropy"] += _entropies(seen)[:, chosen].sum(axis=1)
            counts["entropy"] += int(chosen.sum())
            even += float(((closest * mask).sum(axis=1) / np.maximum(mask.sum(axis=1), 1))[chosen].sum())
        for name in (name for name in names if counts[name]):
            means[name][layer] = sums[name] / counts[name]
        if n_chosen := counts["diagonality"]:
            uniform = even / n_chosen
            means["diagonality"][layer] = ((means["diagonality"][layer] - uniform) / (1 - uniform)).clip(0, 1)
    return means


def measure_run(run: "ModelRun") -> dict[str, dict[str, Float[np.ndarray, "layer head"]]]:
    """Measure all heads of a model on the text of a run; return the measures by name, by name of attention."""
    measures = {}
    for name, attention_maps in run.attention_maps.items():
        special = np.array(run.sides(name)["special"][1], dtype=bool)
        ids = np.array(run.inputs[0 if ATTENTIONS[name].queries_from == "source" else -1])
        measures[name] = measure_text(attention_maps, special, attention=name, ids=ids)
    return measures


def _weights(
    mask: Bool[np.ndarray, "some key"],
    rows: slice,
    special: Bool[np.ndarray, " key"],
    attention: str,
    n_queries: int,
    ids: Int[np.ndarray, " query"] | None,
) -> dict[str, tuple[np.ndarray, Bool[np.ndarray, " some"]]]:
    """Return the weights of the measures that are weighted sums of attention, and which queries count."""
    is_self, chosen = ATTENTIONS[attention].is_self, has_choice(mask)
    queries, keys = np.arange(rows.start, rows.stop), np.arange(mask.shape[1])
    has_other = queries >= 2 if is_self else chosen
    weights = {
        "diagonality": (closeness(queries, keys, mask, n_queries), chosen),
        "first": (np.broadcast_to(keys == 0, mask.shape), has_other & mask[:, 0]),
        "special": (np.broadcast_to(special, mask.shape), chosen & (mask & special).any(axis=1)),
    }
    if is_self:
        before = keys == queries[:, None] - 1
        weights["distance"] = (np.abs(keys - queries[:, None]), chosen)
        weights["previous"] = (before, has_other & (mask & before).any(axis=1))
    if is_self and ids is not None:
        after_same = induction_cells(ids, special, rows) & mask
        weights["induction"] = (after_same, after_same.any(axis=1))
    return weights


def _entropies(rows: Float[np.ndarray, "head query key"]) -> Float[np.ndarray, "head query"]:
    logs = np.maximum(rows, np.finfo(rows.dtype).tiny)  # of 0, any number: 0 times it is 0
    return -np.einsum("hqk,hqk->hq", rows, np.log(logs, out=logs))
