"""Heads patched between the two sides of minimal pairs, and which pronoun the model predicts then.

Each side is the clean run of one pronoun and the corrupted run of the other. Putting the heads of the side with elle
into the run of the side with il is *denoising* for elle (are these heads sufficient for elle?) and at the same time
*noising* for il (are their own values necessary for il?). Both directions are reported: to elle, and to il.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.pronouns.pair_batch import PairBatch
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import Intervention, intervene
from transformer_core.instrument.sites import Site
from transformer_core.model.transformer import Transformer


class FlipRates(NamedTuple):
    """Of sides that the model translates right, the share whose pronoun becomes the other one, in [0, 1]."""

    to_feminine: float  # il becomes elle, ils becomes elles
    to_masculine: float  # elle becomes il, elles becomes ils

    @property
    def lower(self) -> float:
        """The lower of the two: what holds in both directions."""
        return min(self)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the model predicts where the pronoun comes, teacher-forced up to it."""

    difference: Float[np.ndarray, " row"]  # logit of the other side's pronoun minus that of this side's
    flipped: Bool[np.ndarray, " row"]  # the most probable token of all is the other side's pronoun

    @property
    def rates(self) -> FlipRates:
        """The shares of rows that flipped, in both directions."""
        masculine, feminine = np.split(self.flipped, 2)
        return FlipRates(float(masculine.mean()), float(feminine.mean()))


def heads_of(config: ModelConfig) -> tuple[HeadName, ...]:
    """Return all heads of a model in the order in which it computes them."""
    heads = [
        HeadName(name, layer, head)
        for name, attention in attentions_of(config).items()
        for layer in range(attention.n_layers(config))
        for head in range(config.n_heads)
    ]
    return tuple(sorted(heads, key=lambda name: (name.attention != "encoder", name.layer, name.attention == "cross")))


class PronounRuns:
    """A model's unpatched run over minimal pairs, and runs with heads patched.

    Args:
        model: in evaluation mode.
        batch: the pairs; those that the model does not translate right say nothing, so leave them out.
    """

    def __init__(self, model: Transformer, batch: PairBatch) -> None:
        """Run the model once on both sides of each pair."""
        self.model, self.batch = model, batch
        with torch.inference_mode(), capture(model, "*.hook_z") as acts:
            self._memory = model.encode(batch.src)
            self.unpatched = self._outcome(model.decode(batch.tgt, self._memory, batch.src))
        self._acts = acts

    def patched(self, heads: Sequence[HeadName], *, role: str | None = None) -> Outcome:
        """Return the predictions with heads patched; the encoder runs again only if one of them is in it.

        Args:
            heads: whose outputs (z) are those of the other side of each pair.
            role: of the positions where they are, as in `PairBatch.roles`; None: all positions.

        Raises:
            SiteError: the model has no such head.
        """
        interventions = self.interventions(heads, role=role)
        in_encoder = any(site.startswith("encoder.") for site in interventions)
        with torch.inference_mode(), intervene(self.model, interventions):
            memory = self.model.encode(self.batch.src) if in_encoder else self._memory
            return self._outcome(self.model.decode(self.batch.tgt, memory, self.batch.src))

    def interventions(self, heads: Sequence[HeadName], *, role: str | None = None) -> dict[str, Intervention]:
        """Return a patch by site, for `intervene` around any run over the rows of this batch; arguments as above."""
        by_site: dict[str, list[int]] = {}
        for head in heads:
            by_site.setdefault(ATTENTIONS[head.attention].site(head.layer, "hook_z"), []).append(head.head)
        where = None if role is None else self.batch.roles[role]  # the same positions on both sides of a pair
        return {site: _put(self._acts[site][self.batch.partners], of_site, where) for site, of_site in by_site.items()}

    def _outcome(self, logits: Float[Tensor, "row tgt vocab"]) -> Outcome:
        batch, rows = self.batch, torch.arange(len(logits), device=logits.device)
        at_pronoun = logits[rows, batch.predicts].float()
        return Outcome(
            difference=(at_pronoun[rows, batch.other] - at_pronoun[rows, batch.own]).cpu().numpy(),
            flipped=(at_pronoun.argmax(dim=-1) == batch.other).cpu().numpy(),
        )


def _put(
    taken: Float[Tensor, "row head pos d_head"], heads: Sequence[int], where: Bool[Tensor, "row pos"] | None
) -> Callable[[Tensor, Site], Tensor]:
    """Return an intervention that puts values in their places; where decoding is beyond them, nothing changes."""

    def put(value: Tensor, site: Site) -> Tensor:
        here = slice(site.first, site.first + value.shape[-2])
        new, changed = taken[:, heads, here], value.clone()
        there = changed[:, heads, : new.shape[-2]]
        is_meant = torch.ones_like(new, dtype=torch.bool) if where is None else where[:, None, here, None]
        changed[:, heads, : new.shape[-2]] = torch.where(is_meant, new, there)
        return changed

    return put
