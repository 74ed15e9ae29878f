"""Each architecture gets its batches, or a message that says which corpus it needs; pairs are shifted right."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.config import Architecture
from transformer_core.corpora.batch_order import IGNORED, Batch, Batches
from transformer_core.corpora.batching import PairBatches, batches_for, refuse_stride
from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.corpora.text_batches import MaskedBatches, NextTokenBatches
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer

PAD, BOS, EOS = 0, 1, 2
LETTERS = "abcdefgh"
TEXTS = [Text(text) for text in ("a b", "b c a", "c")]
PAIRS = [Pair("a", "b"), Pair("b c", "a")]
Row = tuple[int, ...]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([" ".join(LETTERS)], kind="word", mask=True)


def get(
    items: Sequence[Text] | Sequence[Pair], tokenizer: Tokenizer, architecture: Architecture = "encoder_decoder"
) -> Batches:
    return batches_for(items, tokenizer, architecture, max_seq_len=8, batch_size=2, seed=0)


def test_each_architecture_has_its_own(tokenizer: Tokenizer):
    assert type(get(PAIRS, tokenizer)) is PairBatches
    assert type(get(TEXTS, tokenizer, "decoder_only")) is NextTokenBatches
    assert type(get(TEXTS, tokenizer, "encoder_only")) is MaskedBatches


def test_a_stride_is_at_most_as_long_as_a_window(tmp_path: Path):
    (tmp_path / "one.txt").write_text("A running text. " * 100)
    running = open_corpus(tmp_path / "one.txt", CorpusReading(division="stream")).train
    for stride in (None, 1, 8):
        refuse_stride(stride, running, max_seq_len=8)
    with pytest.raises(CorpusError, match=r"stride \(9\) must be at most max_seq_len \(8\)"):
        refuse_stride(9, running, max_seq_len=8)
    with pytest.raises(CorpusError, match="stride only applies to windows"):
        refuse_stride(8, TEXTS, max_seq_len=8)


@pytest.mark.parametrize(
    ("items", "architecture", "message"),
    [
        (PAIRS, "decoder_only", r"consists of pairs, but a decoder .* choose an encoder-decoder"),
        (PAIRS, "encoder_only", r"consists of pairs, but a decoder or an encoder .* text file"),
        (TEXTS, "encoder_decoder", r"consists of texts, .* choose a decoder or an encoder.*a \.tsv file"),
        *(([], architecture, "at least one pair or text") for architecture in get_args(Architecture)),
    ],
)
def test_what_a_model_cannot_learn_from(tokenizer: Tokenizer, items: Any, architecture: Architecture, message: str):
    with pytest.raises(CorpusError, match=message):
        get(items, tokenizer, architecture)


def some_pairs(lengths: list[tuple[int, int]], seed: int = 0) -> list[Pair]:
    random = np.random.default_rng(seed)

    def text(n: int) -> str:
        return " ".join(random.choice(list(LETTERS), size=n))

    return [Pair(text(n_source), text(n_target)) for n_source, n_target in lengths]


def without(padding: int, row: list[int]) -> Row:
    """A row without its padding, which must lie at its end."""
    n_tokens = sum(token != padding for token in row)
    assert set(row[n_tokens:]) <= {padding}
    return tuple(row[:n_tokens])


def rows_of(batch: Batch) -> list[tuple[Row, Row, Row]]:
    src, tgt = batch.inputs
    return [
        (without(PAD, src_row), without(PAD, tgt_row), without(IGNORED, target_row))
        for src_row, tgt_row, target_row in zip(src.tolist(), tgt.tolist(), batch.targets.tolist(), strict=True)
    ]


def rows_by_hand(pairs: Sequence[Pair], tokenizer: Tokenizer) -> list[tuple[Row, Row, Row]]:
    return [
        (
            (*tokenizer.encode(pair.source), EOS),
            (BOS, *tokenizer.encode(pair.target)),
            (*tokenizer.encode(pair.target), EOS),
        )
        for pair in pairs
    ]


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=40),
    st.integers(1, 9),
    st.integers(0, 99),
)
def test_an_epoch_holds_each_pair_once(
    tokenizer: Tokenizer, lengths: list[tuple[int, int]], batch_size: int, seed: int
):
    pairs = some_pairs(lengths, seed)
    batches = PairBatches(pairs, tokenizer, max_seq_len=8, batch_size=batch_size, seed=seed)
    taken = [next(batches) for _ in range(batches.batches_per_epoch)]
    assert Counter(row for batch in taken for row in rows_of(batch)) == Counter(rows_by_hand(pairs, tokenizer))


@pytest.mark.parametrize(("too_long", "side"), [((8, 3), "source"), ((3, 8), "target")])
def test_a_pair_that_is_too_long_is_named_by_its_line(tokenizer: Tokenizer, too_long: tuple[int, int], side: str):
    fitting = [(7, 7)] * 4
    get(some_pairs(fitting), tokenizer)
    with pytest.raises(CorpusError, match=f"the {side} on line 5 has 9 tokens.* takes at most 8"):
        get(some_pairs([*fitting, too_long, too_long]), tokenizer)


def test_in_a_file_it_is_the_line_of_the_file(tmp_path: Path, tokenizer: Tokenizer):
    rows = [f"{pair.source}\t{pair.target}" for pair in some_pairs([(6, 6)] * 40)]
    path = tmp_path / "pairs.tsv"
    for line in (1, 17, 39):  # whichever lines are held out
        path.write_text("\n".join([*rows[:line], "", "a b c d e f g h\ta", *rows[line:]]), encoding="utf-8")
        corpus = open_corpus(path)
        if "a b c d e f g h" not in {pair.source for pair in corpus.held_out}:
            with pytest.raises(CorpusError, match=rf"the source in .*pairs.tsv, line {line + 2}, has 9 tokens"):
                get(corpus.train, tokenizer)


REFERRING = [
    Pair("The dog barks.", "x", None, ()),
    Pair("The king and the queen ran because they were late.", "x", None, ((7, 1), (7, 4))),
    Pair("It sleeps when the unknowable dog eats it.", "x", None, ((0, 5), (7, 5))),
]


@pytest.mark.parametrize("kind", ["word", "character", "byte_bpe"])
def test_pronouns_meet_what_they_stand_for_whatever_a_token_is(kind: Literal["word", "character", "byte_bpe"]):
    """Words are found in the text by a search of our own, and all tokens that lie in them are marked."""
    known = REFERRING[:2] if kind == "word" else REFERRING  # an unknown word is a word; of a letter, nobody can say
    tokenizer = train_tokenizer([pair.source for pair in known] * 2, kind=kind, vocab_size=300)
    sizes: dict[str, Any] = {"max_seq_len": 80, "batch_size": 3, "seed": 0}
    batch = PairBatches(REFERRING, tokenizer, with_antecedents=True, **sizes).batch(np.array([2, 0, 1]))
    actual = batch.antecedents
    assert actual is not None and actual.shape == (3, batch.inputs[0].shape[1], batch.inputs[0].shape[1])
    for row, pair in zip((2, 0, 1), (REFERRING[1], REFERRING[2], REFERRING[0]), strict=True):
        words = re.findall(r"\w+|[.]", pair.source)
        owners = [number for number, word in enumerate(words) for _ in range(n_tokens(tokenizer, words, number))]
        expected = {
            (query, key)
            for query, one in enumerate(owners)
            for key, other in enumerate(owners)
            if (one, other) in (pair.antecedents or ())
        }
        assert {tuple(cell) for cell in actual[row].nonzero().tolist()} == expected
    assert batch.n_pronouns == int(actual.any(dim=-1).sum()) >= 3
    assert next(PairBatches(REFERRING, tokenizer, **sizes)).antecedents is None  # not requested
    taken = batch.rows(torch.tensor([1]))
    assert taken.n_pronouns == 0 and batch.rows(torch.tensor([0, 2])).n_pronouns == batch.n_pronouns


def n_tokens(tokenizer: Tokenizer, words: list[str], number: int) -> int:
    """Count the tokens of one word: those of the text up to its end, less those of the text before it."""
    text, ends = "", [0]
    for word in words[: number + 1]:
        text += word if word == "." or not text else f" {word}"
        ends.append(len(tokenizer.encode(text)))
    return ends[-1] - ends[-2]
