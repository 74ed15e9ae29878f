"""Minimal pairs as one batch: both sides of each pair, up to the pronoun, and the positions of some of their words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_core.corpora.shipped.en_fr.minimal_pairs import MinimalPair, Side
from transformer_core.decoding.greedy import greedy_decode, until_end
from transformer_core.errors import TextError
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
    forced: tuple[tuple[int, ...], ...]  # [row], the same if the pronoun were the other one
    roles: Mapping[str, Bool[Tensor, "row pos"]]  # "pronoun", over src; "prediction" of the pronoun, over tgt

    @property
    def n_pairs(self) -> int:
        """How many pairs."""
        return len(self.pairs)

    @property
    def sides(self) -> tuple[Side, ...]:
        """The side of each row."""
        return (*(pair.masculine for pair in self.pairs), *(pair.feminine for pair in self.pairs))

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
        TextError: no pairs, or a model or tokenizer with which the words of a pair cannot be found.
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
    first = [_first_difference(one, other) for one, other in zip(translations, forced, strict=True)]
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
    """Return the pairs of which greedy decoding writes both translations word for word.

    Args:
        model: in evaluation mode.
        batch: the pairs.
    """
    is_right = [one == other for one, other in zip(free_translations(model, batch), batch.translations, strict=True)]
    both = zip(batch.pairs, is_right[: batch.n_pairs], is_right[batch.n_pairs :], strict=True)
    return tuple(pair for pair, masculine, feminine in both if masculine and feminine)


def free_translations(model: Transformer, batch: PairBatch) -> tuple[tuple[int, ...], ...]:
    """Return what greedy decoding makes of each row's source: tokens after <bos>, with <eos> where it was written."""
    longest = max(map(len, batch.translations)) + 1  # longer is wrong, whatever comes
    written = greedy_decode(model, batch.src, max_new_tokens=longest).tokens[:, 1:].tolist()
    return tuple(tuple(until_end(row, model.config)) for row in written)


def _first_difference(one: Sequence[int], other: Sequence[int]) -> int:
    return next(place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)


def _padded(rows: Sequence[Sequence[int]], model: Transformer) -> Int[Tensor, "row pos"]:
    longest, filler = max(map(len, rows)), model.config.pad_id or 0
    padded = [[*row, *[filler] * (longest - len(row))] for row in rows]
    return torch.tensor(padded, device=next(model.parameters()).device)
