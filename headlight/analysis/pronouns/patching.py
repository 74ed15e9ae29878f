"""Patch heads between the two sides of minimal pairs, and see which pronoun the model predicts.

Each side is the clean run of one pronoun and the corrupted run of the other. Putting the heads of the side with elle
into the run of the side with il is *denoising* for elle (are these heads sufficient for elle?) and at the same time
*noising* for il (are their own values necessary for il?). Both directions are reported: to elle, and to il.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from headlight.analysis.heads.measures import HeadName, by_layer
from headlight.analysis.trace.attentions import ATTENTIONS
from transformer_core.corpora.shipped.en_fr.minimal_pairs import MinimalPair
from transformer_core.decoding.greedy import greedy_decode, until_end
from transformer_core.errors import TextError
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import Intervention, intervene
from transformer_core.instrument.interventions import patch
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class PairBatch:
    """n minimal pairs as 2 n rows: row i is the masculine side of pair i, and row n + i its feminine side."""

    pairs: tuple[MinimalPair, ...]
    src: Int[Tensor, "row src"]  # English and <eos>, padded on the right
    tgt: Int[Tensor, "row tgt"]  # <bos> and the French before the pronoun, padded; the same for both sides of a pair
    own: Int[Tensor, " row"]  # token of the pronoun of this side
    other: Int[Tensor, " row"]  # token of the pronoun of the other side
    translations: tuple[tuple[int, ...], ...]  # [row], tokens of the whole French sentence, <eos> included
    forced: tuple[tuple[int, ...], ...]  # [row], the same sentence with the other pronoun
    roles: Mapping[str, Bool[Tensor, "row pos"]]  # "pronoun", over src; "prediction" of the pronoun, over tgt

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self.pairs)

    @property
    def partners(self) -> Int[Tensor, " row"]:
        """The row of the other side of the same pair."""
        return torch.arange(2 * self.n_pairs, device=self.src.device).roll(self.n_pairs)

    @property
    def predicts(self) -> Int[Tensor, " row"]:
        """The position of tgt whose output is the pronoun."""
        return self.roles["prediction"].int().argmax(dim=-1)


def pair_batch(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[MinimalPair]) -> PairBatch:
    """Return minimal pairs as tokens.

    Args:
        model: an encoder-decoder; the batch is made for its device.
        tokenizer: the model's own.
        pairs: at least one.

    Raises:
        TextError: no pairs, or the words of a pair cannot be located with this model and tokenizer.
    """
    il_elle = tokenizer.encode("il elle") if tokenizer.kind == "word" else []
    if model.config.architecture != "encoder_decoder" or len(set(il_elle)) < 2:
        raise TextError(
            "minimal pairs need a model that translates English to French, with a word tokenizer; choose "
            "checkpoints/en-fr, or a model that was trained on en-fr"
        )
    if not pairs:
        raise TextError("there are no minimal pairs to run; draw at least one")
    sides = [*(pair.masculine for pair in pairs), *(pair.feminine for pair in pairs)]
    sources = [tokenizer.encode(side.pair.source, eos=True) for side in sides]
    translations = [tuple(tokenizer.encode(side.pair.target, eos=True)) for side in sides]
    forced = [tuple(tokenizer.encode(side.forced, eos=True)) for side in sides]
    first = [  # positions where both differ: the pronouns
        next(place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
        for one, other in zip(translations, forced, strict=True)
    ]
    prefixes = [
        [*tokenizer.encode("", bos=True), *translation[:n]] for translation, n in zip(translations, first, strict=True)
    ]
    src, tgt = _padded(sources, model), _padded(prefixes, model)
    pronouns = [place for side in sides for place, _ in side.pair.antecedents or ()]
    roles = {
        role: torch.arange(tokens.shape[1], device=tokens.device) == torch.tensor(places, device=tokens.device)[:, None]
        for role, tokens, places in (("pronoun", src, pronouns), ("prediction", tgt, first))
    }
    return PairBatch(
        pairs=tuple(pairs),
        src=src,
        tgt=tgt,
        own=torch.tensor([one[n] for one, n in zip(translations, first, strict=True)], device=tgt.device),
        other=torch.tensor([one[n] for one, n in zip(forced, first, strict=True)], device=tgt.device),
        translations=tuple(translations),
        forced=tuple(forced),
        roles=roles,
    )


def right_on_both_sides(model: Transformer, batch: PairBatch) -> tuple[MinimalPair, ...]:
    """Return the pairs whose two translations greedy decoding reproduces word for word.

    Args:
        model: in evaluation mode.
        batch: the pairs.
    """
    is_right = [one == other for one, other in zip(free_translations(model, batch), batch.translations, strict=True)]
    both = zip(batch.pairs, is_right[: batch.n_pairs], is_right[batch.n_pairs :], strict=True)
    return tuple(pair for pair, masculine, feminine in both if masculine and feminine)


def free_translations(model: Transformer, batch: PairBatch) -> tuple[tuple[int, ...], ...]:
    """Return the greedy translation of each row's source: tokens after <bos>, with <eos> if it was generated."""
    longest = max(map(len, batch.translations)) + 1  # a longer output is wrong in any case
    written = greedy_decode(model, batch.src, max_new_tokens=longest).tokens[:, 1:].tolist()
    return tuple(tuple(until_end(row, model.config)) for row in written)


def _padded(rows: Sequence[Sequence[int]], model: Transformer) -> Int[Tensor, "row pos"]:
    padded = pad_sequence([*map(torch.tensor, rows)], batch_first=True, padding_value=model.config.pad_id or 0)
    return padded.to(next(model.parameters()).device)


class FlipRates(NamedTuple):
    """Share of correctly translated sides whose pronoun flips to the other one, in [0, 1]."""

    to_feminine: float  # il becomes elle, ils becomes elles
    to_masculine: float  # elle becomes il, elles becomes ils

    @property
    def lower(self) -> float:
        """The lower of the two rates."""
        return min(self)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The model's predictions at the position of the pronoun, teacher-forced up to it."""

    difference: Float[np.ndarray, " row"]  # logit of the other side's pronoun minus that of this side's
    flipped: Bool[np.ndarray, " row"]  # the most probable token of all is the other side's pronoun

    @property
    def rates(self) -> FlipRates:
        """The shares of rows that flipped, in both directions."""
        masculine, feminine = np.split(self.flipped, 2)
        return FlipRates(float(masculine.mean()), float(feminine.mean()))


class PronounRuns:
    """A model's unpatched run over minimal pairs, and runs with heads patched.

    Args:
        model: in evaluation mode.
        batch: the pairs; leave out those that the model does not translate correctly.
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
            heads: the heads whose outputs (z) come from the other side of each pair.
            role: role of the positions to patch, as in `PairBatch.roles`; elsewhere these heads keep the outputs of the
                unpatched run. None: all positions.

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
        patches: dict[str, Intervention] = {}
        for (attention, layer), of_layer in by_layer(heads).items():
            site = ATTENTIONS[attention].site(layer, "hook_z")
            own = self._acts[site]
            values = own[self.batch.partners]
            if role is not None:  # the same positions on both sides of a pair
                values = torch.where(self.batch.roles[role][:, None, :, None], values, own)
            patches[site] = patch({site: values}, heads=of_layer, positions=range(values.shape[-2]))
        return patches

    def _outcome(self, logits: Float[Tensor, "row tgt vocab"]) -> Outcome:
        batch, rows = self.batch, torch.arange(len(logits), device=logits.device)
        at_pronoun = logits[rows, batch.predicts].float()
        return Outcome(
            difference=(at_pronoun[rows, batch.other] - at_pronoun[rows, batch.own]).cpu().numpy(),
            flipped=(at_pronoun.argmax(dim=-1) == batch.other).cpu().numpy(),
        )


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How greedy decoding from the first word on follows a patch."""

    agreeing: float  # share of gender-marked adjectives that take the other gender's form, in [0, 1]
    exact: float  # share of translations equal, word for word, to the one with the other pronoun


def agreement(runs: PronounRuns, head: HeadName) -> Agreement:
    """Decode greedily while a head is patched at the position of its role, and compare the translations."""
    batch = runs.batch
    role = "pronoun" if head.attention == "encoder" else "prediction"
    with intervene(runs.model, runs.interventions([head], role=role)):
        written = free_translations(runs.model, batch)
    n_prefix = batch.predicts.tolist()
    agreeing = []
    for one, own, forced, n in zip(written, batch.translations, batch.forced, n_prefix, strict=True):
        places = [place for place in range(n + 1, len(own)) if own[place] != forced[place]]
        if places and one[: n + 1] == forced[: n + 1]:  # correct up to the pronoun, which is the other one
            agreeing.append(all(one[place : place + 1] == (forced[place],) for place in places))
    return Agreement(
        agreeing=float(np.mean(agreeing)) if agreeing else 0.0,
        exact=float(np.mean([one == other for one, other in zip(written, batch.forced, strict=True)])),
    )
