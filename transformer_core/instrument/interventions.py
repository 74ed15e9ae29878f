"""Ready-made interventions: an operation, and the part of a site that it acts on.

Operations: `zero`, `scale`, `replace`, `average`, `resample`, `patch` and, for cells, `set_cells`. Each takes `heads`,
`positions` or `cells`; without any it acts on the whole site:

>>> zero(heads=[1])  # zero ablation of a head, at hook_z, hook_result, hook_pattern, ...
>>> patch(acts, positions=[3])  # activation patching, for example at a residual site
>>> scale(0.5, cells=[(None, 4, 2)], renormalize=True)  # at hook_pattern: all heads, query 4, key 2
>>> knock_out([(0, 4, 2)])  # at hook_attn_scores or hook_mask, so that the softmax gives more to the other keys

Heads are those of the site: hook_k and hook_v may have fewer than the queries. Positions are those of the whole text,
also with a cache; at sites with keys they are the queries. At hook_attn_scores, cells that a mask forbids stay
forbidden; use `edit_mask` to allow them.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real

import torch
from torch import Tensor

from transformer_core.arguments import NUMBER, check_kind, wrong_kind
from transformer_core.errors import InterventionError, Message
from transformer_core.instrument.selection import Acts, Cell, Edit, Selection, captured, cell_index, cut_to, fitting
from transformer_core.instrument.sites import Site


def zero_heads(heads: Iterable[int]) -> Edit:
    """Set whole heads to 0 ("zero ablation"), as `zero(heads=...)` does."""
    return zero(heads=heads)


def zero(
    *,
    heads: Iterable[int] | None = None,
    positions: Iterable[int] | None = None,
    cells: Iterable[Cell] | None = None,
    renormalize: bool = False,
) -> Edit:
    """Set to 0.

    Args:
        heads: to act on; None: all.
        positions: to act on, of the whole text; None: all.
        cells: instead of heads and positions: (head, query, key), each None for all.
        renormalize: at hook_pattern: rescale the other cells of each edited row, so that it sums to 1 again.
    """
    return scale(0.0, heads=heads, positions=positions, cells=cells, renormalize=renormalize)


def scale(
    factor: float | Tensor,
    *,
    heads: Iterable[int] | None = None,
    positions: Iterable[int] | None = None,
    cells: Iterable[Cell] | None = None,
    renormalize: bool = False,
) -> Edit:
    """Multiply by a factor; the other arguments are those of `zero`."""
    check_kind("factor", factor, (Real, Tensor), NUMBER)
    if isinstance(factor, Tensor) and factor.numel() != 1:
        raise wrong_kind("factor", factor, NUMBER)

    def scaled(value: Tensor, site: Site) -> Tensor:
        return value.new_zeros(()) if factor == 0 else value * factor

    return Edit(Selection.of(heads, positions, cells), scaled, renormalize)


def replace(
    value: float | Tensor,
    *,
    heads: Iterable[int] | None = None,
    positions: Iterable[int] | None = None,
    cells: Iterable[Cell] | None = None,
    renormalize: bool = False,
) -> Edit:
    """Replace by a number or a tensor; the other arguments are those of `zero`.

    A tensor broadcasts to the site's value; its axis of positions, if any, is that of the whole text.
    """
    try:
        put = torch.as_tensor(value)
    except (RuntimeError, TypeError, ValueError):
        raise wrong_kind("value", value, Message("a number or a tensor")) from None
    selection = Selection.of(heads, positions, cells)

    def replaced(old: Tensor, site: Site) -> Tensor:
        return cut_to(old, put, site, selection)

    return Edit(selection, replaced, renormalize)


def average(
    acts: Acts | None = None,
    *,
    heads: Iterable[int] | None = None,
    positions: Iterable[int] | None = None,
    cells: Iterable[Cell] | None = None,
    renormalize: bool = False,
) -> Edit:
    """Replace by the mean over texts and positions ("mean ablation"); the other arguments are those of `zero`.

    At sites with keys the mean is over texts only, because different queries have different keys. `acts` is a capture
    of the site on texts without padding; without it, the mean is over all positions of the same text, including
    later ones, which is impossible with a cache.
    """
    selection = Selection.of(heads, positions, cells)

    def mean(value: Tensor, site: Site) -> Tensor:
        if site.stem == "hook_mask":
            raise InterventionError(
                "a mask has no mean; average a site other than {site}, or use edit_mask", site=site.name
            )
        if acts is not None:
            taken = captured(acts, site)
            return cut_to(value, taken.mean(dim=0 if site.has_keys else (0, -2), keepdim=True), site, selection)
        if site.has_keys:
            raise InterventionError(
                "{site} has no mean over positions, because queries have different keys; capture the "
                "site on other texts and average over those, as in average(acts)",
                site=site.name,
            )
        if site.first > 0:
            raise InterventionError(
                "{site} has no mean over positions, because with a cache the other positions are not "
                "computed; capture the site on other texts and average over those, as in average(acts)",
                site=site.name,
            )
        return value.mean(dim=-2, keepdim=True)

    return Edit(selection, mean, renormalize)


def resample(
    acts: Acts,
    *,
    seed: int = 0,
    aligned: Mapping[int, int] | None = None,
    heads: Iterable[int] | None = None,
    positions: Iterable[int] | None = None,
) -> Edit:
    """Replace each position by a random position of another text ("resample ablation").

    Args:
        acts: a capture of the site on a text of any length without padding.
        seed: of the draws; each position always gets the same one.
        aligned: maps positions to those of the other text that replace them, instead of a draw.
        heads: as for `zero`.
        positions: as for `zero`.

    Source: after Chan et al. 2022, "Causal scrubbing". Differs: positions are drawn, so lengths may differ.
    """
    selection = Selection.of(heads, positions, None)

    def drawn(value: Tensor, site: Site) -> Tensor:
        if site.has_keys:
            raise InterventionError(
                "the rows of {site} depend on their own queries and keys; resample hook_z, or patch this site",
                site=site.name,
            )
        taken = captured(acts, site)
        positions, n = range(site.first, site.first + value.shape[-2]), taken.shape[-2]
        missing = next((position for position in (aligned or {}).values() if not 0 <= position < n), None)
        if missing is not None:
            raise InterventionError(
                "the source activation at {site} has {n_there} positions, so there is no position "
                "{missing}; specify positions that it has",
                site=site.name,
                n_there=n,
                missing=missing,
            )
        there = aligned or {}
        rows = [
            there[position] if position in there else random.Random(f"{seed}, position {position}").randrange(n)
            for position in positions
        ]
        return fitting(taken[..., rows, :].to(value), value, site)

    return Edit(selection, drawn)


def patch(
    acts: Acts,
    *,
    heads: Iterable[int] | None = None,
    positions: Iterable[int] | None = None,
    cells: Iterable[Cell] | None = None,
    renormalize: bool = False,
) -> Edit:
    """Replace by the values of another run at the same site and positions ("activation patching").

    `acts` is a capture of the site on one text, or on as many as there are here, with all the positions; the other
    arguments are those of `zero`.

    Source: Vig et al. 2020, sec. 3; Meng et al. 2022, sec. 2.1, who call it causal tracing.
    """
    selection = Selection.of(heads, positions, cells)

    def taken(value: Tensor, site: Site) -> Tensor:
        return cut_to(value, captured(acts, site), site, selection, is_run=True)

    return Edit(selection, taken, renormalize)


def set_cells(cells: Mapping[Cell, float], *, renormalize: bool = False) -> Edit:
    """Set individual cells of a pattern, or of scores.

    Args:
        cells: values by (head, query, key), each None for all; where cells overlap, the last value is used.
        renormalize: at hook_pattern: the cells keep their values, and the others of each row are rescaled so that it
            sums to 1; if that is impossible, the row is divided by its sum.
    """
    check_kind("cells", cells, Mapping, Message("a mapping of (head, query, key) to numbers"))
    selection, numbers = Selection.of(None, None, cells), tuple(cells.values())
    for number in numbers:
        check_kind("a cell's value", number, (Real, Tensor), NUMBER)

    def filled(value: Tensor, site: Site) -> Tensor:
        new = value.clone()
        for cell, number in zip(selection.cells or (), numbers, strict=True):
            new[:, *cell_index(cell, site)] = number
        return new

    return Edit(selection, filled, renormalize)


def knock_out(edges: Iterable[Cell]) -> Edit:
    """Forbid attention edges before the softmax, which gives their weight to the other keys ("attention knockout").

    For hook_attn_scores and hook_mask; the latter keeps the fused kernel. To remove an edge without redistributing its
    weight, use `zero(cells=edges)` at hook_pattern.

    Args:
        edges: (head, query, key), each None for all.

    Source: Geva et al. 2023, sec. 4.
    """

    def forbidden(value: Tensor, site: Site) -> Tensor:
        if site.stem == "hook_mask":
            return value.new_zeros(())
        if site.stem == "hook_attn_scores":
            return value.new_tensor(-math.inf)
        raise InterventionError(
            "edges can only be knocked out before the softmax, at hook_attn_scores or hook_mask, not "
            "at {site}; at hook_pattern, use zero(cells=...), with or without renormalize",
            site=site.name,
        )

    return Edit(Selection.of(None, None, edges), forbidden)


def edit_mask(*, allow: Sequence[Cell] = (), forbid: Sequence[Cell] = ()) -> Edit:
    """Change the mask, at hook_mask.

    Args:
        allow: cells to allow: (head, query, key), each None for all.
        forbid: cells to forbid; this overrides `allow`.
    """
    opened, closed = Selection.of(None, None, allow), Selection.of(None, None, forbid)

    def changed(value: Tensor, site: Site) -> Tensor:
        if site.stem != "hook_mask":
            raise InterventionError("edit_mask only works at hook_mask, not at {site}", site=site.name)
        return (value | opened.within(value, site)) & ~closed.within(value, site)

    return Edit(Selection(cells=(*(opened.cells or ()), *(closed.cells or ()))), changed)
