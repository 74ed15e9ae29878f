"""How the heads that decide the pronoun work together: where, through what, along which edge, and what they carry."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import torch
from torch import Tensor

from transformer_core.analysis.heads.measures import HeadName
from transformer_core.analysis.pronouns.head_sets import Heads
from transformer_core.analysis.pronouns.pair_batch import SOURCE_ROLES, TARGET_ROLES, free_translations
from transformer_core.analysis.pronouns.patching import (
    PARTS,
    FlipRates,
    HeadPatch,
    PronounRuns,
    heads_of,
    rows_from_other_pairs,
)
from transformer_core.analysis.trace.attentions import ATTENTIONS
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.sites import Site

KEY_ROLES = ("antecedent", "other noun", "pronoun", "quality")  # keys of cells, in the English sentence


@dataclass(frozen=True, kw_only=True)
class PositionEffect:
    """A head that is patched at the positions of one role only."""

    head: HeadName
    role: str  # one of SOURCE_ROLES or TARGET_ROLES
    rates: FlipRates


@dataclass(frozen=True, kw_only=True)
class PartEffect:
    """A head of which one part is patched, at all positions: its queries, keys, values, pattern, or z."""

    head: HeadName
    part: str  # one of PARTS
    rates: FlipRates


@dataclass(frozen=True, kw_only=True)
class HeldEffect:
    """A head that is patched while later heads are held at what they were without it; 0: it works through those."""

    head: HeadName
    held: Heads
    rates: FlipRates


@dataclass(frozen=True, kw_only=True)
class CellEffect:
    """A cell of a head's pattern, from the position that matters to a word of the English sentence."""

    head: HeadName
    query: str  # role
    key: str  # one of KEY_ROLES
    weight: float  # its attention without intervention, mean over both sides, in [0, 1]
    knocked_out: FlipRates  # the cell set to 0, the rest of the row renormalized to sum to 1
    set_to_zero: FlipRates  # the cell set to 0, the rest of the row as it was


@dataclass(frozen=True, kw_only=True)
class TransferEffect:
    """A head's z at one position, taken from a sentence of another pair."""

    head: HeadName
    same_pronoun: bool  # that sentence has the same French pronoun
    same_antecedent: bool  # its pronoun stands for the same kind of noun, the subject or the object
    rates: FlipRates


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What greedy decoding writes under a patch, from the first word on."""

    head: HeadName
    rates: FlipRates  # translations that are right up to the pronoun, which is the other one
    n_gendered: int  # of these, the ones whose adjective has another form for the other gender
    agreeing: float  # share of these that have that other form, in [0, 1]
    exact: float  # of all translations, the share that is word for word the one with the other pronoun


@dataclass(frozen=True, kw_only=True)
class PronounPath:
    """What is known of the heads on the way from the quality to the pronoun."""

    positions: tuple[PositionEffect, ...]
    parts: tuple[PartEffect, ...]
    held: tuple[HeldEffect, ...]
    cells: tuple[CellEffect, ...]
    transfers: tuple[TransferEffect, ...]
    agreements: tuple[Agreement, ...]


def pronoun_path(runs: PronounRuns, heads: Sequence[HeadName]) -> PronounPath:
    """Return what is known of some heads: those that are `sufficient`, for example.

    Args:
        runs: of pairs that the model translates right on both sides.
        heads: in the order of computation, as `heads_of` gives them.
    """
    return PronounPath(
        positions=position_map(runs, heads),
        parts=tuple(
            PartEffect(head=head, part=part, rates=runs.patched(HeadPatch(heads=(head,), part=part)).rates)
            for head, part in product(heads, PARTS)
        ),
        held=_held(runs, heads),
        cells=tuple(cell_effect(runs, head, key) for head, key in product(heads, KEY_ROLES) if _has_source_keys(head)),
        transfers=tuple(
            _transfer(runs, head, same_pronoun, same_antecedent)
            for head, same_pronoun, same_antecedent in product(heads, (True, False), (True, False))
        ),
        agreements=tuple(agreement(runs, head) for head in heads),
    )


def position_map(runs: PronounRuns, heads: Sequence[HeadName] | None = None) -> tuple[PositionEffect, ...]:
    """Return the effect of heads at each role of positions; None: of all heads.

    Roles are those of the queries: of the English sentence in the encoder, of the French prefix in the decoder.
    """
    chosen = heads_of(runs.model.config) if heads is None else heads
    return tuple(
        PositionEffect(head=head, role=role, rates=runs.patched(HeadPatch(heads=(head,), role=role)).rates)
        for head in chosen
        for role in (SOURCE_ROLES if head.attention == "encoder" else TARGET_ROLES)
    )


def query_role(head: HeadName) -> str:
    """Return the role of the position at which a head can decide the pronoun."""
    return "pronoun" if head.attention == "encoder" else "prediction"


def agreement(runs: PronounRuns, head: HeadName) -> Agreement:
    """Return what the model writes, decoding greedily, while a head is patched at the position that matters."""
    batch = runs.batch
    with intervene(runs.model, runs.interventions(HeadPatch(heads=(head,), role=query_role(head)))):
        written = free_translations(runs.model, batch)
    n_prefix = batch.predicts.tolist()
    is_flipped = np.array(
        [one[: n + 1] == forced[: n + 1] for one, forced, n in zip(written, batch.forced, n_prefix, strict=True)]
    )
    agreeing = []
    for row in np.flatnonzero(is_flipped):
        own, forced = batch.translations[row], batch.forced[row]
        places = [place for place in range(n_prefix[row] + 1, len(own)) if own[place] != forced[place]]
        if places:
            agreeing.append(all(written[row][place : place + 1] == (forced[place],) for place in places))
    masculine, feminine = np.split(is_flipped, 2)
    return Agreement(
        head=head,
        rates=FlipRates(float(masculine.mean()), float(feminine.mean())),
        n_gendered=len(agreeing),
        agreeing=float(np.mean(agreeing)) if agreeing else 0.0,
        exact=float(np.mean([one == other for one, other in zip(written, batch.forced, strict=True)])),
    )


def cell_effect(runs: PronounRuns, head: HeadName, key: str) -> CellEffect:
    """Return the weight of a cell of a head's pattern, and what becomes of the pronoun without it.

    Args:
        runs: of the pairs.
        head: of the encoder's self-attention or of cross-attention, whose keys are English words.
        key: one of KEY_ROLES: the noun that "it" stands for in this sentence, the other noun, "it", or the quality.
    """
    batch = runs.batch
    means_subject = torch.tensor([side.means_subject for side in batch.sides], device=batch.src.device)
    nouns = torch.stack([batch.roles["object"], batch.roles["subject"]])
    rows = torch.arange(len(means_subject), device=batch.src.device)
    keys = {
        "antecedent": nouns[means_subject.int(), rows],
        "other noun": nouns[1 - means_subject.int(), rows],
        "pronoun": batch.roles["pronoun"],
        "quality": batch.roles["quality"],
    }[key]
    queries = batch.roles[query_role(head)]
    cells = queries[:, :, None] & keys[:, None, :]  # [row, query, key]
    site = ATTENTIONS[head.attention].site(head.layer)
    weights = runs.captured(site)[:, head.head]

    def without(*, renormalize: bool) -> Callable[[Tensor, Site], Tensor]:
        def changed(pattern: Tensor, _: Site) -> Tensor:
            left = pattern[:, head.head].masked_fill(cells, 0)
            if renormalize:
                total = left.sum(dim=-1, keepdim=True)
                left = torch.where(cells.any(dim=-1, keepdim=True) & (total > 0), left / total, left)
            pattern[:, head.head] = left
            return pattern

        return changed

    return CellEffect(
        head=head,
        query=query_role(head),
        key=key,
        weight=float(weights[cells].mean()),
        knocked_out=runs.intervened({site: [without(renormalize=True)]}).rates,
        set_to_zero=runs.intervened({site: [without(renormalize=False)]}).rates,
    )


def _has_source_keys(head: HeadName) -> bool:
    return ATTENTIONS[head.attention].keys_from == "source"


def _held(runs: PronounRuns, heads: Sequence[HeadName]) -> tuple[HeldEffect, ...]:
    """Hold each later head by itself, and all heads of its attention layer together."""
    effects = []
    for head, later in combinations(heads, 2):
        layer = tuple(one for one in heads_of(runs.model.config) if one[:2] == later[:2])
        for held in (later,), layer:
            if head not in held:
                patches = HeadPatch(heads=(head,)), HeadPatch(heads=held, donors=runs.itself)
                effects.append(HeldEffect(head=head, held=held, rates=runs.patched(*patches).rates))
    return tuple(effects)


def _transfer(runs: PronounRuns, head: HeadName, same_pronoun: bool, same_antecedent: bool) -> TransferEffect:
    donors = rows_from_other_pairs(runs.batch, same_pronoun=same_pronoun, same_antecedent=same_antecedent)
    patch = HeadPatch(heads=(head,), role=query_role(head), donors=donors)
    return TransferEffect(
        head=head,
        same_pronoun=same_pronoun,
        same_antecedent=same_antecedent,
        rates=runs.patched(patch).rates,
    )
