"""An edit: new values in one place of a site."""

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
    """A ready intervention: new values in one place of a site, and the old ones everywhere else."""

    selection: Selection
    new_value: Callable[[Tensor, Site], Tensor]  # a value of which the place is taken; it broadcasts to the old one
    renormalize: bool = False  # let the rest of each pattern's row share what the edit leaves

    def __call__(self, value: Tensor, site: Site) -> Tensor:
        """Return the edited value.

        Raises:
            InterventionError: the site has no such place, or the operation makes no sense there.
        """
        if self.renormalize and site.stem != "hook_pattern":
            raise InterventionError(
                "renormalize only works at hook_pattern, where rows sum to 1, not at {site}; leave it out",
                site=site.name,
            )
        value = self.selection.widened(value, site)
        is_meant = self.selection.within(value, site)
        if site.stem == "hook_attn_scores":
            is_meant = is_meant & (value > -math.inf)
        edited = torch.where(is_meant, self.new_value(value, site), value)
        return _with_rows_of_sum_1(edited, is_meant, value) if self.renormalize else edited


def _with_rows_of_sum_1(edited: Tensor, is_edited: Tensor, before: Tensor) -> Tensor:
    """Return a pattern whose edited rows sum to 1 again, the edited cells as they are wherever that is possible."""
    kept = torch.where(is_edited, edited, 0)
    others = torch.where(is_edited, 0, edited)
    n_kept, n_others = kept.sum(dim=-1, keepdim=True), others.sum(dim=-1, keepdim=True)
    share = (1 - n_kept).clamp(min=0) / torch.where(n_others > 0, n_others, 1)
    rows = kept + others * share
    total = rows.sum(dim=-1, keepdim=True)
    is_off = (total > 0) & ((n_others <= 0) | (n_kept > 1))
    rows = rows / torch.where(is_off, total, 1)
    return torch.where(is_edited.any(dim=-1, keepdim=True), rows, before)
