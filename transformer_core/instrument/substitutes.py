"""Values from elsewhere, of another run or a person's own, that are put in the place of those of a site."""

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
"""What a capture kept, or values of a person's own, by the name of the site."""


def captured(acts: Acts, site: Site) -> Tensor:
    """Return what a capture kept at a site; a lazy pattern in full.

    Raises:
        ArgumentError: it is no capture.
        InterventionError: it kept nothing there.
    """
    check_kind("acts", acts, Mapping, Message("activations that capture kept, by site"))
    if site.name not in acts:
        raise InterventionError(
            "the source activations do not include {site}; capture it on the other text first", site=site.name
        )
    taken = acts[site.name]
    return taken.full() if isinstance(taken, LazyPattern) else taken


def cut_to(value: Tensor, taken: Tensor, site: Site, selection: Selection, *, is_run: bool = False) -> Tensor:
    """Return `taken`, which stands for a whole text, at the positions of `value`, so that it broadcasts to it.

    Args:
        value: what the site holds.
        taken: what is put there.
        site: where that is.
        selection: the part that is asked for.
        is_run: it is of another run, so that a single position in it is the first one, and does not stand for all.

    Raises:
        InterventionError: it lacks a position that is asked for, or does not fit.
    """
    taken, n = taken.to(value), value.shape[-2]
    if site.has_keys and taken.ndim and taken.shape[-1] > max(1, value.shape[-1]):
        taken, behind = taken[..., : value.shape[-1]], taken[..., value.shape[-1] :]
        if taken.ndim > 1 and taken.shape[-2] > 1:
            behind = behind[..., site.first : site.first + n, :]
        nothing = {"hook_attn_scores": -math.inf, "hook_mask": False, "hook_pattern": 0.0}[site.stem]
        if (behind != nothing).any():
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
    """Return `taken`, which must broadcast to `value`.

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
