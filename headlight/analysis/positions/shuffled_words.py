"""A text with its words shuffled: does a head still attend to the same words, or to the same positions?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from headlight.analysis.trace.attentions import ATTENTIONS, sides_of
from headlight.analysis.trace.model_run import ModelRun
from headlight.analysis.trace.traced_forward import LEAST_ROOM, captured
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.decoding.inputs import final_states, tensor_of
from transformer_core.errors import TextError
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer
from transformer_core.text.labels import with_border
from transformer_core.text.words import word_labels

MOST_TOKENS = 128  # of a text whose words are shuffled
N_ORDERS = 6  # orders that a head's `follows` is measured over
_MOST_TRIES = 20  # to draw an order that is not the text's own
_LEAST_WEIGHT = 1e-3  # of the compared keys in a row; rows with less are ignored

Order = Int[np.ndarray, " pos"]
"""The index of the original token at each position."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ShuffledWords:
    """One attention on a text and on the same text with its words in another order."""

    order: tuple[int, ...]  # of the selected side: the index of the original token at each position
    text: str  # of that side, shuffled
    own_text: str  # of that side, in its own order
    output: str | None  # for the shuffled text; None if an encoder-decoder's target was shuffled
    own_output: str | None
    own: Float[np.ndarray, "layer head query key"]
    shuffled: Float[np.ndarray, "layer head query key"]
    mask: Bool[np.ndarray, "layer query key"]
    query_labels: tuple[tuple[str, ...], tuple[str, ...]]  # in the text's own order, and shuffled
    key_labels: tuple[tuple[str, ...], tuple[str, ...]]
    follows: Float[np.ndarray, "layer head"]  # 1: only the words, -1: only the positions; NaN: nothing could move


@torch.inference_mode()
def shuffle_words(
    model: Transformer, tokenizer: Tokenizer, model_run: ModelRun, *, attention: str, seed: int = 0
) -> ShuffledWords:
    """Shuffle the words that an attention looks at, and run the model again.

    For the encoder's attention and cross-attention these are the words of the source; for the decoder's, those of its
    input or prompt. Tokens of a word stay together, and special tokens keep their positions. The decoder's input
    stays the same where the source is shuffled, so that the patterns can be compared.

    Args:
        model: in evaluation mode.
        tokenizer: the model's.
        model_run: of the text, by this model.
        attention: a name in ATTENTIONS that the model has.
        seed: seed of the order that is shown; `follows` is measured over further orders, too.

    Raises:
        TextError: the text is too long.
    """
    kind = ATTENTIONS[attention]
    inputs, n_own = _inputs(model_run)
    side = kind.keys_from
    ids, labels = inputs[side], getattr(model_run, side)[: n_own[side]]
    if max(map(len, inputs.values())) > MOST_TOKENS:
        raise TextError("only texts of up to {n} tokens can be shuffled; use a shorter text", n=MOST_TOKENS)
    is_special, words = model_run.special[side][: len(ids)], model_run.words[side][: len(ids)]
    orders = [_order(ids, words, is_special, seed + draw) for draw in range(N_ORDERS)]
    own = _patterns(model, attention, inputs)
    n_queries, n_keys = own.shape[2:]
    mask = model_run.attention_maps[attention].masks[:, :n_queries, :n_keys]
    is_self = kind.queries_from == kind.keys_from
    shuffled, distances = None, np.zeros((2, *own.shape[:2]))
    for order in orders:
        patterns = _patterns(model, attention, {**inputs, side: [ids[place] for place in order]})
        of_queries = order if is_self else np.arange(n_queries)
        distances += _distances(own, patterns, mask, of_queries, order)
        shuffled = patterns if shuffled is None else shuffled
    assert shuffled is not None, "there is one order at least"
    first = orders[0]
    new_ids = [ids[place] for place in first]
    border = model_run.border if side == "source" else None  # stays unchanged, like the segments
    new_labels = with_border((labels[place] for place in first), border)
    queries = model_run.labels(attention)[0][:n_queries]
    is_said = side == "source" or model_run.architecture == "decoder_only"
    own_order = np.arange(len(ids))
    shown, mask_id = np.array([*is_special]), tokenizer.mask_id
    shown = ~shown | np.array([mask_id is not None and one == mask_id for one in ids])
    own_text, text = (_text(labels, words, shown, places) for places in (own_order, first))
    return ShuffledWords(
        order=tuple(first.tolist()),
        text=text,
        own_text=own_text,
        output=_predicted_text(model, tokenizer, model_run, new_ids) if is_said else None,
        own_output=_predicted_text(model, tokenizer, model_run, ids) if is_said else None,
        own=own,
        shuffled=shuffled,
        mask=mask,
        query_labels=(queries, new_labels if is_self else queries),
        key_labels=(labels, new_labels),
        follows=_follows(distances),
    )


def _inputs(model_run: ModelRun) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Return the tokens of each side, of a prompt without its continuation, and their number."""
    sides = sides_of(model_run.architecture)
    inputs = {side: list(ids) for side, ids in zip((*sides, "segments"), model_run.inputs, strict=False)}
    if model_run.architecture == "decoder_only":
        inputs["target"] = inputs["target"][: model_run.n_given]
    return inputs, {side: len(ids) for side, ids in inputs.items()}


def _order(ids: Sequence[int], words: Sequence[int], is_special: Sequence[bool], seed: int) -> Order:
    """Return a permutation of positions that shuffles the words; the identity if no other order is possible."""
    units: list[list[int]] = []
    for place, word in enumerate(words):
        if place and word == words[place - 1]:
            units[-1].append(place)
        else:
            units.append([place])
    movable = [number for number, unit in enumerate(units) if not any(is_special[place] for place in unit)]
    random = np.random.default_rng((seed, *ids))
    order = np.arange(len(ids))
    for _ in range(_MOST_TRIES):
        drawn = dict(zip(movable, random.permutation(movable).tolist(), strict=True))
        places = [place for number in range(len(units)) for place in units[drawn.get(number, number)]]
        order = np.array(places, dtype=np.int64)
        if [ids[place] for place in places] != list(ids):
            break
    return order


def _text(labels: Sequence[str], words: Sequence[int], shown: Bool[np.ndarray, " pos"], order: Order) -> str:
    """Return the words in an order as readable text, without special tokens other than blanks."""
    places, labels = [place for place in order.tolist() if shown[place]], with_border(labels, None)
    return " ".join(word_labels([labels[place] for place in places], [words[place] for place in places]))


def _patterns(
    model: Transformer, attention: str, inputs: Mapping[str, Sequence[int]]
) -> Float[np.ndarray, "layer head query key"]:
    kind = ATTENTIONS[attention]
    sites = [kind.site(layer) for layer in range(kind.n_layers(model.config))]
    activations = captured(model, inputs.values(), *sites)
    return np.stack([activations[site][0].float().cpu().numpy() for site in sites])


def _distances(
    own: Float[np.ndarray, "layer head query key"],
    shuffled: Float[np.ndarray, "layer head query key"],
    mask: Bool[np.ndarray, "layer query key"],
    of_queries: Int[np.ndarray, " query"],
    of_keys: Int[np.ndarray, " key"],
) -> Float[np.ndarray, "2 layer head"]:
    """Return the distances of the shuffled rows from rows that follow the words, and that follow the positions.

    Rows are compared over the keys that the mask allows in both orders, each divided by its sum there; the distance is
    half the sum of the differences, in [0, 1], added up over the queries.
    """
    queries, keys = np.ix_(of_queries, of_keys)
    common = (mask & mask[:, queries, keys])[:, None]  # [layer, 1, query, key]
    rows = [
        np.where(common, pattern, 0.0) for pattern in (shuffled, own[:, :, queries, keys], own)
    ]  # [layer, head, query, key] each
    sums = [row.sum(axis=-1, keepdims=True) for row in rows]
    says = (common.sum(axis=-1) > 1) & np.all([total[..., 0] >= _LEAST_WEIGHT for total in sums], axis=0)
    seen, words, places = (row / np.maximum(total, _LEAST_WEIGHT) for row, total in zip(rows, sums, strict=True))
    return np.stack([(np.abs(seen - other).sum(axis=-1) / 2 * says).sum(axis=-1) for other in (words, places)])


def _follows(distances: Float[np.ndarray, "2 layer head"]) -> Float[np.ndarray, "layer head"]:
    """Return (from places - from words) / (from places + from words)."""
    from_words, from_places = distances
    total = from_words + from_places
    with np.errstate(invalid="ignore"):
        return np.where(total > 1e-6, (from_places - from_words) / total, np.nan)


def _predicted_text(model: Transformer, tokenizer: Tokenizer, model_run: ModelRun, ids: Sequence[int]) -> str:
    """Return the model's output for these tokens: a translation, a continuation, or the text with its blanks filled."""
    tokens = tensor_of(ids, model)
    config = model.config
    if model_run.architecture == "encoder_only":
        if not config.unembed or tokenizer.mask_id is None or tokenizer.mask_id not in ids:
            return ""
        best = model.logits_of(final_states(model, (tokens, *model_run.inputs[1:])))[0].argmax(dim=-1).tolist()
        return tokenizer.decode(
            [guess if one == tokenizer.mask_id else one for one, guess in zip(ids, best, strict=True)]
        )
    if model_run.architecture == "encoder_decoder":
        room = min(config.max_seq_len, max(LEAST_ROOM, 2 * len(ids)))
        written = greedy_decode(model, tokens, max_new_tokens=room - 1).tokens[0, 1:].tolist()
        return tokenizer.target.decode(written)
    n_new = min(max(1, len(model_run.target) - model_run.n_given), config.max_seq_len - len(ids))
    if not n_new or not (model_run.output or model_run.is_complete):  # the text alone was read
        return ""
    written = greedy_decode(model, tokens, max_new_tokens=n_new).tokens[0].tolist()
    return tokenizer.decode(written[len(ids) :])
