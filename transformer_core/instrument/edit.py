"""An edit: new values for a part of a site."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer_core.errors import InterventionError
from transformer_core.instrument.selection import Selection
from transformer_core.instrument.sites import Site


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
