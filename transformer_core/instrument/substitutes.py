"""Values that replace those of a site: captured in another run, or given."""

import math
from collections.abc import Mapping

from torch import Tensor
from torch.nn import functional as F

from transformer_core.arguments import check_kind
from transformer_core.errors import InterventionError, Message
from transformer_core.instrument.lazy import LazyPattern
from transformer_core.instrument.selection import Selection
from transformer_core.instrument.sites import Site

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
        is_run: it comes from another run, so a single position is the first one and does not broadcast.

    Raises:
        InterventionError: it lacks a selected position, or does not fit.
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
        InterventionError: it does not.
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
