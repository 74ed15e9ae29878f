"""What is to be seen of a head: against loops over single cells, and places that lead there and back."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from headlight.analysis.heads.picture import (
    HeadPicture,
    HeadShare,
    Hidden,
    Quantity,
    ViewSpec,
    cell_in_all_heads,
    picture,
)
from transformer_core.errors import ConfigError

N = 9  # tokens: <bos>, six words of which two have several tokens, <eos>
LABELS: tuple[str, ...] = ("<bos>", "the", "·un", "believ", "able", "cat", "·is", "n't", "<eos>")
WORDS = (0, 1, 2, 2, 2, 3, 4, 4, 5)
SPECIAL = (True, *[False] * 7, True)
SINK = 1
HEAD = HeadShare(layer=1, head=2)
Window = tuple[tuple[int, int], tuple[int, int]]


class Written:
    """An attention whose numbers are made up, all written out: what a picture asks of `AttentionMaps`."""

    def __init__(self, mask: np.ndarray, *, is_short: bool = True, seed: int = 0) -> None:
        result = np.random.default_rng(seed)
        n_queries, n_keys = mask.shape[-2:]
        self.shape, self._mask, self.is_short = (
            (2, 3, n_queries, n_keys),
            np.broadcast_to(mask, (2, n_queries, n_keys)),
            is_short,
        )
        self.all_scores = np.where(self._mask[:, None], result.normal(size=self.shape), -np.inf).astype(np.float32)
        weights = np.exp(self.all_scores)
        self.patterns = weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-9)
        self.value_norms, self.written_norms = result.uniform(0.5, 2, size=(2, 2, 3, n_keys)).astype(np.float32)
        self.sinks = np.arange(n_keys) == SINK
        self.n_asked = 0  # cells of single heads

    def pattern(self, layer: int, head: int, queries: slice = slice(None), keys: slice = slice(None)) -> np.ndarray:
        request = self.patterns[layer, head, queries, keys]
        self.n_asked += request.size
        return request

    def scores(self, layer: int, head: int, queries: slice = slice(None), keys: slice = slice(None)) -> np.ndarray:
        return self.all_scores[layer, head, queries, keys]

    def mask(self, layer: int, queries: slice = slice(None), keys: slice = slice(None)) -> np.ndarray:
        return self._mask[layer, queries, keys]

    def row(self, query: int) -> np.ndarray:
        return self.patterns[:, :, query]


CAUSAL = Written(np.tri(N, dtype=bool))
SIDES: dict[str, Any] = {"labels": (LABELS, LABELS), "words": (WORDS, WORDS), "special": (SPECIAL, SPECIAL)}


def seen(
    spec: ViewSpec | None = None,
    attention_maps: Any = CAUSAL,
    *,
    sides: dict[str, Any] = SIDES,
    most_cells: int = 256,
    **more: Any,
) -> HeadPicture:
    return picture(attention_maps, replace(spec or ViewSpec(heads=(HEAD,)), **more), **sides, most_cells=most_cells)


def cells_by_hand(quantity: Quantity, shares: Iterable[HeadShare], attention_maps: Written = CAUSAL) -> np.ndarray:
    """The quantity of one head, or the weighted mean of several, token by token."""
    shares = [share for share in shares if share.weight]
    cells = np.zeros(attention_maps.shape[2:])
    for query, key in np.ndindex(*cells.shape):
        for s in shares:
            value = float(attention_maps.all_scores[s.layer, s.head, query, key])
            if quantity != "scores":
                value = float(attention_maps.patterns[s.layer, s.head, query, key])
            if quantity == "values":
                value *= float(attention_maps.value_norms[s.layer, s.head, key])
            if quantity == "written":
                value *= float(attention_maps.written_norms[s.layer, s.head, key])
            cells[query, key] += value * s.weight / sum(share.weight for share in shares)
    return cells


def words_by_hand(
    cells: np.ndarray, mask: np.ndarray, queries: list[list[int]], keys: list[list[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the queries of a word of the sums over the keys of a word; a word may look where any token may."""
    values, allowed = np.zeros((len(queries), len(keys))), np.zeros((len(queries), len(keys)), dtype=bool)
    for row, column in np.ndindex(*values.shape):
        sums = [sum(float(cells[q, k]) for k in keys[column]) for q in queries[row]]
        values[row, column] = sum(sums) / len(sums)
        allowed[row, column] = any(mask[q, k] for q in queries[row] for k in keys[column])
    return values, allowed


def shown_tokens(hidden: Iterable[int] = (), span: tuple[int, int] = (0, N - 1), *, in_words: bool) -> list[list[int]]:
    units: dict[int, list[int]] = {}
    for token in range(span[0], min(span[1] + 1, N)):
        if token not in hidden:
            units.setdefault(WORDS[token] if in_words else token, []).append(token)
    return list(units.values())


MIXES = ((HEAD,), (HEAD, HeadShare(layer=0, head=1, weight=0.5)), tuple(HeadShare(layer=1, head=h) for h in range(3)))


@pytest.mark.parametrize("quantity", ["pattern", "scores", "log", "values", "written"])
@pytest.mark.parametrize("shares", MIXES, ids=["one", "two", "layer"])
def test_every_quantity_of_one_head_and_of_several(quantity: Quantity, shares: tuple[HeadShare, ...]):
    shown = seen(heads=shares, quantity=quantity)
    np.testing.assert_allclose(shown.values, cells_by_hand(quantity, shares), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(shown.mask, np.tri(N, dtype=bool))
    assert shown.values.dtype == np.float32 and shown.blocks is None
    assert (shown.queries.labels, shown.keys.labels, shown.queries.first, shown.keys.first) == (LABELS, LABELS, 0, 0)
    if quantity == "scores":  # which no sum makes one of: they stay those of tokens
        np.testing.assert_array_equal(seen(heads=shares, quantity=quantity, in_words=True).values, shown.values)
    if quantity in ("pattern", "log"):
        assert shown.largest is None
        np.testing.assert_allclose(shown.values.sum(axis=1), 1, rtol=1e-5)


WHOLE = (0, N - 1)


@pytest.mark.parametrize("quantity", ["pattern", "values"])
@pytest.mark.parametrize("hidden", [(), ("special",), ("sinks",), ("special", "sinks")], ids=str)
@pytest.mark.parametrize(
    ("window", "spans"),
    [
        (None, (WHOLE, WHOLE)),
        (((3, 7), (0, 3)), ((3, 7), (0, 3))),
        (((4, 6), (4, 99)), ((4, 6), (4, N - 1))),
        (((9, 12), (2, 4)), (WHOLE, (2, 4))),  # where a side has no such tokens, all of it is shown
    ],
)
@pytest.mark.parametrize("in_words", [False, True], ids=["tokens", "words"])
@pytest.mark.parametrize("again", [False, True])
def test_words_are_sums_over_keys_and_means_over_queries_of_what_is_not_hidden(
    quantity: Quantity,
    hidden: tuple[Hidden, ...],
    window: Window | None,
    spans: Window,
    in_words: bool,
    again: bool,
):
    """Some windows cut a word: then it is made of the tokens that are left. Weights are shared out over all keys."""
    more: dict[str, Any] = {"hidden": frozenset(hidden), "in_words": in_words, "renormalise": again}
    shown = seen(quantity=quantity, window=window, **more)
    of_text = {0, N - 1} if "special" in hidden else set()
    of_keys = of_text | ({SINK} if "sinks" in hidden else set())
    queries, keys = (shown_tokens(h, s, in_words=in_words) for h, s in zip((of_text, of_keys), spans, strict=True))
    cells = cells_by_hand(quantity, (HEAD,))
    if again and quantity == "pattern":
        for query in range(N):
            left = sum(cells[query, key] for key in range(N) if key not in of_keys)
            cells[query] *= 1 / left if left else 0
    values, mask = words_by_hand(cells, CAUSAL.mask(1), queries, keys)
    np.testing.assert_allclose(shown.values, values, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(shown.mask, mask)
    assert [[*tokens] for tokens in shown.queries.tokens] == queries
    assert [[*tokens] for tokens in shown.keys.tokens] == keys


def test_words_are_called_as_their_tokens_together():
    shown = seen(in_words=True)
    assert shown.keys.labels == ("<bos>", "the", "unbelievable", "cat", "isn't", "<eos>")
    np.testing.assert_allclose(shown.values.sum(axis=1), 1, rtol=1e-5)
    assert seen(in_words=True, window=((3, 4), (0, 1))).queries.labels == ("believable",)


@pytest.mark.parametrize(
    ("window", "hidden"),
    [(((0, 0), (0, 8)), ("special",)), (((1, 3), (8, 8)), ("special",)), (((1, 3), (0, 1)), ("special", "sinks"))],
)
def test_where_everything_is_hidden_there_is_nothing_to_show(window: Window, hidden: tuple[Hidden, ...]):
    for in_words in (False, True):
        with pytest.raises(ConfigError, match="all tokens in this range are excluded"):
            seen(window=window, hidden=frozenset(hidden), in_words=in_words)
    with pytest.raises(ConfigError, match="all tokens"):
        seen(window=((5, 2), (0, 3)))  # its last token lies before its first


@pytest.mark.parametrize("hidden", [(), ("special",), ("sinks",), ("special", "sinks")], ids=str)
@pytest.mark.parametrize("in_words", [False, True], ids=["tokens", "words"])
@pytest.mark.parametrize("window", [None, ((3, 7), (2, 5)), ((4, 6), (1, 3)), ((6, 8), (6, 8))], ids=str)
def test_places_lead_there_and_back(hidden: tuple[Hidden, ...], in_words: bool, window: Window | None):
    spec = ViewSpec(heads=(HEAD,), hidden=frozenset(hidden), in_words=in_words)
    whole, shown = seen(spec), seen(spec, window=window)
    for of_all, side, name in ((whole.queries, shown.queries, "query"), (whole.keys, shown.keys, "key")):
        places = range(side.first, side.first + len(side.tokens))
        for place, tokens in zip(places, side.tokens, strict=True):
            arguments = {"query": None, "key": None, name: place}
            (token,) = (actual for actual in shown.token_of(**arguments) if actual is not None)
            assert token == tokens.start and side.place(token) == place
            for token in tokens:
                assert side.place(token) == place == of_all.place(token)  # a window counts as the whole text does
        seen_here = {token for tokens in side.tokens for token in tokens}
        assert all(side.place(token) is None for token in {None, -1, N, *range(N)} - seen_here)
        for beyond in (None, side.first - 1, side.first + len(side.tokens)):
            assert shown.token_of(**{"query": None, "key": None, name: beyond}) == (None, None)


@pytest.mark.parametrize("most_cells", [1, 4, 7, 8])
@pytest.mark.parametrize("quantity", ["pattern", "scores", "written"])
@pytest.mark.parametrize("shape", [(N, N), (N, 23), (23, 6)], ids=str)
def test_of_more_cells_than_can_be_drawn_each_is_the_largest_of_its_block(
    quantity: Quantity, most_cells: int, shape: tuple[int, int]
):
    """Block i of m begins at i * n // m, and no block is empty."""
    attention_maps = Written(np.tri(*shape, k=2, dtype=bool))
    sides = {
        "labels": tuple(tuple(map(str, range(n))) for n in shape),
        "words": tuple(tuple(range(n)) for n in shape),
        "special": tuple((False,) * n for n in shape),
    }
    shown = seen(None, attention_maps, sides=sides, quantity=quantity, most_cells=most_cells)
    cells, mask = cells_by_hand(quantity, (HEAD,), attention_maps), attention_maps.mask(1)
    sizes = tuple(min(n, most_cells) for n in shape)
    assert shown.values.shape == shown.mask.shape == sizes and shown.blocks == shape
    for row, column in np.ndindex(*sizes):
        queries, keys = (
            range(i * n // m, (i + 1) * n // m) for i, n, m in zip((row, column), shape, sizes, strict=True)
        )
        allowed = [float(cells[q, k]) for q, k in product(queries, keys) if mask[q, k]]
        assert shown.mask[row, column] == bool(allowed)
        nothing = -np.inf if quantity == "scores" else 0
        assert shown.values[row, column] == pytest.approx(max(allowed, default=nothing), rel=1e-5)
    assert len(shown.queries.tokens) == shape[0] and shown.keys.labels == sides["labels"][1]


@pytest.mark.parametrize("quantity", ["pattern", "scores", "values"])
def test_heads_of_layers_with_other_masks_are_masked_by_the_layers_that_count(quantity: Quantity):
    """Weights lie where any of the layers may look; a mean of scores is a number where all of them may."""
    window = np.abs(np.arange(N)[:, None] - np.arange(N)) < 3
    layers = Written(np.stack([np.ones((N, N), dtype=bool), window]))
    alone = [seen(None, layers, heads=(HeadShare(layer=i, head=0),), quantity=quantity) for i in (0, 1)]
    assert alone[0].mask.all() and (alone[1].mask == window).all()
    shares = HeadShare(layer=0, head=1), HeadShare(layer=1, head=2)
    mixed = seen(None, layers, heads=shares, quantity=quantity)
    np.testing.assert_allclose(mixed.values, cells_by_hand(quantity, shares, layers), rtol=1e-5)
    if quantity == "scores":
        assert (mixed.mask == window).all() and (np.isfinite(mixed.values) == window).all()
    else:
        assert mixed.mask.all()
    one = seen(None, layers, heads=(replace(shares[0], weight=0.0), shares[1]), quantity=quantity)
    assert (one.mask == window).all(), "a head of weight 0 does not count"
    np.testing.assert_allclose(one.values, seen(None, layers, heads=shares[1:], quantity=quantity).values, rtol=1e-6)


@pytest.mark.parametrize("quantity", ["scores", "values", "written"])
@pytest.mark.parametrize("shares", MIXES[:2], ids=["one", "two"])
@pytest.mark.parametrize("in_words", [False, True], ids=["tokens", "words"])
def test_the_largest_is_that_of_all_cells_of_the_text(
    quantity: Quantity, shares: tuple[HeadShare, ...], in_words: bool
):
    """So that all windows have the same colors."""
    cells = cells_by_hand(quantity, shares)
    if in_words and quantity != "scores":
        units = shown_tokens(in_words=True)
        cells, _ = words_by_hand(cells, CAUSAL.mask(1), units, units)
    largest = max(abs(value) for value in cells.ravel().tolist() if np.isfinite(value))
    for more in ({}, {"window": ((2, 4), (5, 8))}, {"hidden": frozenset({"special"})}, {"most_cells": 3}):
        shown = seen(heads=shares, quantity=quantity, in_words=in_words, **more)
        assert shown.largest is not None and shown.largest == pytest.approx(largest, rel=1e-5)
        assert np.abs(shown.values[np.isfinite(shown.values)]).max(initial=0) <= shown.largest * (1 + 1e-6)


def test_of_a_long_text_only_what_is_shown_is_computed():
    attention_maps = Written(np.tri(N, dtype=bool), is_short=False)
    window: Window = ((4, 6), (0, 8))
    shown = seen(None, attention_maps, quantity="values", window=window)
    assert attention_maps.n_asked == 3 * N
    assert shown.largest == pytest.approx(cells_by_hand("values", (HEAD,))[4:7].max(), rel=1e-5)
    in_words = seen(None, attention_maps, quantity="values", window=window, in_words=True)
    assert in_words.largest is not None and in_words.values.max() == pytest.approx(in_words.largest, rel=1e-6)


def test_a_cell_of_words_in_every_head_is_that_of_their_pictures():
    shown = seen(in_words=True)
    queries, keys = shown.queries.tokens[4], shown.keys.tokens[2]
    actual = cell_in_all_heads(CAUSAL, queries, keys)
    for layer, head in np.ndindex(2, 3):
        sums = [sum(float(CAUSAL.patterns[layer, head, q, k]) for k in (2, 3, 4)) for q in (6, 7)]
        assert actual[layer, head] == pytest.approx(sum(sums) / 2, rel=1e-5)
    assert actual[1, 2] == pytest.approx(float(shown.values[4, 2]), rel=1e-6)


def test_the_numbers_that_are_kept_are_never_handed_out():
    before = CAUSAL.patterns.copy()
    seen().values[:] = 7
    np.testing.assert_array_equal(CAUSAL.patterns, before)


def test_heads_that_make_no_mean_are_an_error_in_a_sentence():
    with pytest.raises(ConfigError, match="all heads have weight 0"):
        seen(heads=tuple(HeadShare(layer=0, head=h, weight=0.0) for h in range(2)))
    with pytest.raises(ConfigError, match=r"0 or more, got -1\.0"):
        seen(heads=(HEAD, HeadShare(layer=0, head=0, weight=-1.0)))
