"""Edits: new values for a part of a site's value, given or captured in another run.

A part consists of whole heads, of positions, or of cells of a pattern.
"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import SupportsIndex

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.nn import functional as F

from transformer_core.arguments import check_kind, wrong_kind
from transformer_core.errors import InterventionError, Message
from transformer_core.instrument.lazy import LazyPattern
from transformer_core.instrument.sites import Site

_HEAD, _POSITION, _QUERY, _KEY = Message("head"), Message("position"), Message("query"), Message("key")

Cell = tuple[int | None, int | None, int | None]
"""Head, query and key; None stands for all."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A part of a site's value: heads and positions, or cells; everything by default."""

    heads: tuple[int, ...] | None = None
    positions: tuple[int, ...] | None = None  # in the whole text; at sites with keys, positions of the queries
    cells: tuple[Cell, ...] | None = None

    def __post_init__(self) -> None:
        """Check that heads or positions are not combined with cells."""
        if self.cells is not None and (self.heads is not None or self.positions is not None):
            raise InterventionError("cells already specify heads and queries; leave out heads and positions")

    @classmethod
    def of(
        cls,
        heads: Iterable[SupportsIndex] | None,
        positions: Iterable[SupportsIndex] | None,
        cells: Iterable[Cell] | None,
    ) -> "Selection":
        """Return the selection of these indices.

        Raises:
            ArgumentError: an argument that is not a list.
            InterventionError: an index is not a non-negative integer, or cells are combined with heads or positions.
        """
        for name, indices in (("heads", heads), ("positions", positions), ("cells", cells)):
            if indices is not None and (not isinstance(indices, Iterable) or getattr(indices, "ndim", 1) == 0):
                raise wrong_kind(name, indices, Message("a list"))
        return cls(
            heads=None if heads is None else tuple(_index(_HEAD, head) for head in heads),
            positions=None if positions is None else tuple(_index(_POSITION, position) for position in positions),
            cells=None if cells is None else tuple(_cell(cell) for cell in cells),
        )

    def widened(self, value: Tensor, site: Site) -> Tensor:
        """Expand a mask shared by all heads to one per head if heads are selected; return other values unchanged."""
        names_heads = self.heads is not None or any(head is not None for head, _, _ in self.cells or ())
        if names_heads and site.stem == "hook_mask" and value.shape[1] == 1 and site.n_heads is not None:
            return value.expand(-1, site.n_heads, -1, -1)
        return value

    def within(self, value: Tensor, site: Site) -> Bool[Tensor, "..."]:
        """Return a mask of the selected part, True = selected, that broadcasts to the value.

        Positions of earlier or later forward passes are ignored.

        Raises:
            InterventionError: the site has no such axis, or fewer heads.
        """
        self._check(value, site)
        if self.cells is not None:
            meant = torch.zeros(value.shape[1:], dtype=torch.bool, device=value.device)
            for cell in self.cells:
                meant[cell_index(cell, site)] = True
            return meant[None]
        meant = torch.ones((1,) * value.ndim, dtype=torch.bool, device=value.device)
        if self.positions is not None:
            meant = meant & _places(self.positions, value.shape[-2], site.first, value.device)[:, None]
        if self.heads is not None:
            meant = meant & _places(self.heads, value.shape[1], 0, value.device)[:, None, None]
        return meant

    def first_selected(self, start: int, stop: int) -> int | None:
        """Return the first selected position from `start` to `stop - 1`; None if there is none."""
        if self.cells is not None:
            meant = [start if query is None else query for _, query, _ in self.cells]
        else:
            meant = [start] if self.positions is None else [*self.positions]
        return min((position for position in meant if start <= position < stop), default=None)

    def missed(self, n_positions: int, n_keys: int) -> tuple[Message, int, int] | None:
        """Return the first selected index after the end of a text, as (axis, index, length), or None."""
        rows = _POSITION if self.cells is None else _QUERY
        named = [(rows, position, n_positions) for position in self.positions or ()]
        for _, query, key in self.cells or ():
            named += [(rows, query or 0, n_positions), (_KEY, key or 0, n_keys)]
        return next(((what, index, n) for what, index, n in named if index >= n), None)

    def _check(self, value: Tensor, site: Site) -> None:
        if self.cells is not None and not site.has_keys:
            raise InterventionError(
                "{site} has no cells (query-key pairs); specify heads or positions, or intervene at "
                "hook_pattern, hook_attn_scores or hook_mask",
                site=site.name,
            )
        if self.heads is not None and value.ndim != 4:
            raise InterventionError(
                "{site} has no heads; specify positions, or intervene at an attention site such as hook_z",
                site=site.name,
            )
        named = self.heads or [head for head, _, _ in self.cells or () if head is not None]
        for head in named:
            if head >= value.shape[1]:
                raise InterventionError(
                    "there is no head {head} at {site}, which has {n}; the last is {last}",
                    head=head,
                    site=site.name,
                    n=value.shape[1],
                    last=value.shape[1] - 1,
                )


def cell_index(cell: Cell, site: Site) -> tuple[slice, slice, slice]:
    """Return the slices of a cell in a value [head, query, key] of a site; empty slices if it is outside."""

    def as_slice(index: int | None, first: int) -> slice:
        if index is None:
            return slice(None)
        return slice(index - first, index - first + 1) if index >= first else slice(0, 0)

    head, query, key = cell
    return as_slice(head, 0), as_slice(query, site.first), as_slice(key, 0)


def _places(indices: Iterable[int], n: int, first: int, device: torch.device) -> Bool[Tensor, " n"]:
    """Return which of `n` indices from `first` on are selected."""
    is_named = torch.zeros(n, dtype=torch.bool)
    is_named[[index - first for index in indices if first <= index < first + n]] = True
    return is_named.to(device)


def _cell(cell: Cell) -> Cell:
    if not isinstance(cell, tuple) or len(cell) != 3:
        raise InterventionError("a cell is (head, query, key), each a number or None for all; got {cell!r}", cell=cell)
    head, query, key = (
        None if index is None else _index(what, index) for what, index in zip((_HEAD, _QUERY, _KEY), cell, strict=True)
    )
    return head, query, key


def _index(what: Message, index: SupportsIndex) -> int:
    try:
        number = -1 if isinstance(index, bool) else operator.index(index)
    except TypeError:
        number = -1
    if number < 0:
        raise InterventionError("a {what} is a whole number, counted from 0; got {index!r}", what=what, index=index)
    return number


@dataclass(frozen=True, eq=False)
class Edit:
    """A ready-made intervention: new values for a selected part of a site; the rest is left unchanged."""

    selection: Selection
    new_value: Callable[[Tensor, Site], Tensor]  # returns values that broadcast to the old ones
    renormalize: bool = False  # rescale the rest of each edited row of a pattern, so that it sums to 1

    def __call__(self, value: Tensor, site: Site) -> Tensor:
        """Return the edited value.

        Raises:
            InterventionError: the site has no such part, or the operation is not defined there.
        """
        if self.renormalize and site.stem != "hook_pattern":
            raise InterventionError(
                "renormalize only works at hook_pattern, where rows sum to 1, not at {site}; leave it out",
                site=site.name,
            )
        value = self.selection.widened(value, site)
        is_selected = self.selection.within(value, site)
        if site.stem == "hook_attn_scores":
            is_selected = is_selected & (value > -math.inf)
        edited = torch.where(is_selected, self.new_value(value, site), value)
        return _renormalized(edited, is_selected, value) if self.renormalize else edited


def _renormalized(edited: Tensor, is_edited: Tensor, before: Tensor) -> Tensor:
    """Return a pattern whose edited rows sum to 1 again; edited cells keep their values if possible."""
    kept = torch.where(is_edited, edited, 0)
    others = torch.where(is_edited, 0, edited)
    n_kept, n_others = kept.sum(dim=-1, keepdim=True), others.sum(dim=-1, keepdim=True)
    share = (1 - n_kept).clamp(min=0) / torch.where(n_others > 0, n_others, 1)
    rows = kept + others * share
    total = rows.sum(dim=-1, keepdim=True)
    is_off = (total > 0) & ((n_others <= 0) | (n_kept > 1))
    rows = rows / torch.where(is_off, total, 1)
    return torch.where(is_edited.any(dim=-1, keepdim=True), rows, before)


Acts = Mapping[str, Tensor | LazyPattern]
"""Captured or given values by the name of their site."""


def captured(acts: Acts, site: Site) -> Tensor:
    """Return the captured value of a site; a lazy pattern in full.

    Raises:
        ArgumentError: `acts` is not a mapping.
        InterventionError: the site was not captured.
    """
    check_kind("acts", acts, Mapping, Message("activations that capture kept, by site"))
    if site.name not in acts:
        raise InterventionError(
            "the source activations do not include {site}; capture it on the other text first", site=site.name
        )
    taken = acts[site.name]
    return taken.full() if isinstance(taken, LazyPattern) else taken


def cut_to(value: Tensor, taken: Tensor, site: Site, selection: Selection, *, is_run: bool = False) -> Tensor:
    """Return the part of `taken`, which covers a whole text, at the positions of `value`; it broadcasts to it.

    Args:
        value: of the site.
        taken: its replacement.
        site: of both.
        selection: the part that will be replaced.
        is_run: `taken` is from another run, so a single position is position 0 and does not broadcast.

    Raises:
        InterventionError: `taken` lacks a selected position, or does not fit.
    """
    taken, n = taken.to(value), value.shape[-2]
    if site.has_keys and taken.ndim and taken.shape[-1] > max(1, value.shape[-1]):
        taken, beyond = taken[..., : value.shape[-1]], taken[..., value.shape[-1] :]
        if taken.ndim > 1 and taken.shape[-2] > 1:
            beyond = beyond[..., site.first : site.first + n, :]
        nothing = {"hook_attn_scores": -math.inf, "hook_mask": False, "hook_pattern": 0.0}[site.stem]
        if (beyond != nothing).any():
            raise InterventionError(
                "the source activation at {site} attends to keys beyond the {n} of this text",
                site=site.name,
                n=value.shape[-1],
            )
    if taken.ndim > 1 and (is_run or taken.shape[-2] > 1):
        n_there, taken = taken.shape[-2], taken[..., site.first : site.first + n, :]
        missing = selection.first_selected(site.first + taken.shape[-2], site.first + n)
        if missing is not None:
            raise InterventionError(
                "the source activation at {site} has {n_there} positions, so there is no position "
                "{missing}; specify positions that it has",
                site=site.name,
                n_there=n_there,
                missing=missing,
            )
        taken = F.pad(taken, (0, 0, 0, n - taken.shape[-2]))
    return fitting(taken, value, site)


def fitting(taken: Tensor, value: Tensor, site: Site) -> Tensor:
    """Return `taken` if it broadcasts to `value`.

    Raises:
        InterventionError: `taken` does not broadcast.
    """
    axes = zip(reversed(taken.shape), reversed(value.shape), strict=False)
    if taken.ndim > value.ndim or any(n not in (1, n_here) for n, n_here in axes):
        raise InterventionError(
            "the source activation at {site} has shape {taken}, which does not match {shape}: each "
            "axis must have the same length, or 1",
            site=site.name,
            taken=tuple(taken.shape),
            shape=tuple(value.shape),
        )
    return taken
