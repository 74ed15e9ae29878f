"""Ready interventions: an operation, and where in a site it acts.

Operations: `zero`, `scale`, `replace`, `average`, `resample`, `patch` and, for cells, `set_cells`. Each of them takes
`heads`, `positions` or `cells`; without any it acts on all of the site:

>>> zero(heads=[1])  # zero ablation of a head, at hook_z, hook_result, hook_pattern, ...
>>> patch(acts, positions=[3])  # activation patching, at a residual site for example
>>> scale(0.5, cells=[(None, 4, 2)], renormalize=True)  # at hook_pattern: all heads, query 4, key 2
>>> knock_out([(0, 4, 2)])  # at hook_attn_scores or hook_mask, so that the softmax gives the other keys more

Heads are those of the site: where keys and values have fewer heads than queries, hook_k and hook_v count their own.
Positions are those of the whole text, with a cache too; at sites with keys they are the queries. What a mask forbids
stays forbidden at hook_attn_scores, whatever is put there; `edit_mask` changes that.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real

import torch
from torch import Tensor

from transformer_core.arguments import NUMBER, check_kind, wrong_kind
from transformer_core.errors import InterventionError, Message
from transformer_core.instrument.edit import Edit
from transformer_core.instrument.selection import Cell, Selection, cell_index
from transformer_core.instrument.sites import Site
from transformer_core.instrument.substitutes import Acts, captured, cut_to, fitting


def zero_heads(heads: Iterable[int]) -> Edit:
    """Set whole heads to 0 ("zero ablation"): `zero(heads=...)` by its usual name."""
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
        heads: which; None: all.
        positions: which, of the whole text; None: all.
        cells: in place of heads and positions, (head, query, key), where None stands for all.
        renormalize: at hook_pattern: the other cells of a row share what the edit leaves, in their former proportions,
            so that the row sums to 1 again.
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
    """Put a number or a tensor in the place of what was computed; the other arguments are those of `zero`.

    Args:
        value: a tensor broadcasts to the site's value; with an axis of positions, they are those of the whole text.
        heads: as for `zero`.
        positions: as for `zero`.
        cells: as for `zero`.
        renormalize: as for `zero`.
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
    """Put the mean over texts and positions in the place of each of them ("mean ablation").

    At sites with keys the mean is over texts only, for rows of different queries have different keys.

    Args:
        acts: a capture of the site, of texts without padding, which would count; None: the mean over the positions of
            each text itself, later ones included, which therefore must be there: so not with a cache.
        heads: as for `zero`.
        positions: where the mean is put, as for `zero`; it is taken over all.
        cells: as for `zero`.
        renormalize: as for `zero`.
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
    """Put at each position what a random position of another text had ("resample ablation").

    Args:
        acts: a capture of the site, of a text of any length without padding.
        seed: of the draw; the same position always takes from the same.
        aligned: the position of the other text that corresponds to a position here, which takes from it; the others
            draw.
        heads: as for `zero`.
        positions: as for `zero`.

    Source: Chan et al. 2022, "Causal scrubbing", for the idea. Differs: positions are drawn, so lengths may differ.
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
    """Put what another run had at the same site and positions ("activation patching").

    Args:
        acts: a capture of the site, of one text or as many as there are here.
        heads: as for `zero`.
        positions: as for `zero`; all of them must have been captured.
        cells: as for `zero`.
        renormalize: as for `zero`.

    Source: Vig et al. 2020, sec. 3; Meng et al. 2022, sec. 2.1, who call it causal tracing.
    """
    selection = Selection.of(heads, positions, cells)

    def taken(value: Tensor, site: Site) -> Tensor:
        return cut_to(value, captured(acts, site), site, selection, is_run=True)

    return Edit(selection, taken, renormalize)


def set_cells(cells: Mapping[Cell, float], *, renormalize: bool = False) -> Edit:
    """Set cells of a pattern, or of scores, each to its number.

    Args:
        cells: numbers by (head, query, key), where None stands for all; of two that overlap the later one counts.
        renormalize: at hook_pattern: the cells keep their numbers, and the others of a row share what is left, in their
            former proportions. Where nothing is left or nobody to share it, the row is divided by its sum.
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
    """Forbid edges of attention before the softmax, which gives their share to the other keys ("attention knockout").

    For hook_attn_scores and hook_mask; at the latter the fused kernel goes on being used. (To take an edge away and
    give its share to nobody: `zero(cells=edges)` at hook_pattern.)

    Args:
        edges: (head, query, key), where None stands for all.

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
    """Change who may attend to whom, at hook_mask.

    Args:
        allow: (head, query, key), where None stands for all, that are opened.
        forbid: that are closed, also where `allow` has just opened them.
    """
    opened, closed = Selection.of(None, None, allow), Selection.of(None, None, forbid)

    def changed(value: Tensor, site: Site) -> Tensor:
        if site.stem != "hook_mask":
            raise InterventionError("edit_mask only works at hook_mask, not at {site}", site=site.name)
        return (value | opened.within(value, site)) & ~closed.within(value, site)

    return Edit(Selection(cells=(*(opened.cells or ()), *(closed.cells or ()))), changed)
