"""Heads patched between the two sides of minimal pairs, and which pronoun the model predicts then.

Each side is the clean run of one pronoun and the corrupted run of the other. Putting the heads of the side with elle
into the run of the side with il is *denoising* for elle (are these heads sufficient for elle?) and at the same time
*noising* for il (are their own values necessary for il?). Both directions are reported: to elle, and to il.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from transformer_core.analysis.heads.measures import HeadName
from transformer_core.analysis.pronouns.pair_batch import PairBatch
from transformer_core.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import Intervention, intervene
from transformer_core.instrument.sites import Site
from transformer_core.model.transformer import Transformer

PARTS = ("z", "pattern", "q", "k", "v")  # of a head, what can be patched


@dataclass(frozen=True, kw_only=True)
class HeadPatch:
    """What is put in: parts of heads, at some positions, from other rows of the same batch."""

    heads: tuple[HeadName, ...]
    role: str | None = (
        None  # of the positions, as in PairBatch.roles; at a pattern, of the queries; None: all positions
    )
    part: str = "z"  # one of PARTS
    donors: Int[Tensor, " row"] | None = None  # rows that the values come from; None: the other side of the same pair


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
        model: in evaluation mode; where heads share keys and values, those of their group are patched.
        batch: the pairs; those that the model does not translate right say nothing, so leave them out.
    """

    def __init__(self, model: Transformer, batch: PairBatch) -> None:
        """Run the model once on both sides of each pair."""
        self.model, self.batch = model, batch
        with torch.inference_mode(), capture(model, *(f"*.hook_{part}" for part in PARTS)) as acts:
            self._memory = model.encode(batch.src)
            self.unpatched = self._outcome(model.decode(batch.tgt, self._memory, batch.src))
        self._acts = acts

    @property
    def itself(self) -> Int[Tensor, " row"]:
        """Each row as its own donor: a head that is patched so is held at what it was without other patches."""
        return torch.arange(len(self.batch.src), device=self.batch.src.device)

    def patched(self, *patches: HeadPatch) -> Outcome:
        """Return the predictions with heads patched; where patches overlap, the last one counts.

        Raises:
            SiteError: the model has no such head.
        """
        return self.intervened(self.interventions(*patches))

    def intervened(self, interventions: Mapping[str, Sequence[Intervention]]) -> Outcome:
        """Return the predictions under any interventions, by site; the encoder runs again only if one is in it."""
        in_encoder = any(site.startswith("encoder.") for site in interventions)
        with torch.inference_mode(), intervene(self.model, interventions):
            memory = self.model.encode(self.batch.src) if in_encoder else self._memory
            return self._outcome(self.model.decode(self.batch.tgt, memory, self.batch.src))

    def captured(self, site: str) -> Tensor:
        """Return what the unpatched run had at a site, one of PARTS of an attention; its first axis is that of rows."""
        return self._acts[site]

    def interventions(self, *patches: HeadPatch) -> dict[str, list[Intervention]]:
        """Return the patches as interventions by site, for `intervene` around any run over the rows of this batch."""
        by_site: dict[str, list[Intervention]] = {}
        for patch in patches:
            for attention, layer in dict.fromkeys((head.attention, head.layer) for head in patch.heads):
                heads = [head.head for head in patch.heads if (head.attention, head.layer) == (attention, layer)]
                site = ATTENTIONS[attention].site(layer, f"hook_{patch.part}")
                by_site.setdefault(site, []).append(self._intervention(site, heads, patch))
        return by_site

    def _intervention(self, site: str, heads: Iterable[int], patch: HeadPatch) -> Intervention:
        donors = self.batch.partners if patch.donors is None else patch.donors
        taken = self._acts[site][donors]  # [row, head, pos, d_head], or [row, head, query, key]
        n_rows, n_heads, n_positions = taken.shape[:3]
        is_meant = torch.zeros(n_heads, dtype=torch.bool, device=taken.device)
        is_meant[[head * n_heads // self.model.config.n_heads for head in heads]] = True  # shared keys: their group's
        where = is_meant[None, :, None, None].expand(n_rows, -1, n_positions, 1)
        if patch.role is not None:
            role = self.batch.roles[patch.role]
            where = where & role[:, None, :, None]
            taken = _shifted(taken, role, donors)
        return _put(taken, where)

    def _outcome(self, logits: Float[Tensor, "row tgt vocab"]) -> Outcome:
        batch, rows = self.batch, torch.arange(len(logits), device=logits.device)
        at_pronoun = logits[rows, batch.predicts].float()
        return Outcome(
            difference=(at_pronoun[rows, batch.other] - at_pronoun[rows, batch.own]).cpu().numpy(),
            flipped=(at_pronoun.argmax(dim=-1) == batch.other).cpu().numpy(),
        )


def _put(taken: Tensor, where: Bool[Tensor, "row head pos 1"]) -> Callable[[Tensor, Site], Tensor]:
    """Return an intervention that puts values in their places; where decoding is beyond them, nothing changes."""

    def put(value: Tensor, site: Site) -> Tensor:
        here = slice(site.first, site.first + value.shape[-2])
        new, is_meant = taken[:, :, here], where[:, :, here]
        beyond = value.shape[-2] - new.shape[-2]
        return torch.where(F.pad(is_meant, (0, 0, 0, beyond)), F.pad(new, (0, 0, 0, beyond)), value)

    return put


def _shifted(taken: Tensor, role: Bool[Tensor, "row pos"], donors: Int[Tensor, " row"]) -> Tensor:
    """Move each donor's values along the positions, so that its first position of a role lies where the row's does."""
    first = role.int().argmax(dim=-1)
    n = taken.shape[2]
    source = torch.arange(n, device=taken.device) + (first[donors] - first)[:, None]
    rows = torch.arange(len(taken), device=taken.device)[:, None]
    return taken.transpose(1, 2)[rows, source.clamp(0, n - 1)].transpose(1, 2)


def rows_from_other_pairs(batch: PairBatch, *, same_pronoun: bool, same_antecedent: bool) -> Int[Tensor, " row"]:
    """Return for each row a donor from another pair: the next pair of which a side is as asked.

    Args:
        batch: the pairs.
        same_pronoun: whether its pronoun is that of the row.
        same_antecedent: whether its pronoun stands for the same kind of noun, the subject or the object.

    Returns:
        [row]; a row for which there is none is its own donor.
    """
    n, sides = batch.n_pairs, batch.sides
    donors = []
    for row, side in enumerate(sides):
        offset = row // n * n if same_pronoun else n - row // n * n
        candidates = [offset + (row + step) % n for step in range(1, n)]
        asked = (one for one in candidates if (sides[one].means_subject == side.means_subject) == same_antecedent)
        donors.append(next(asked, row))
    return torch.tensor(donors, device=batch.src.device)
