"""The token store: the tokenizer's tokens of each text, encoded once."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.storage import token_store as module
from transformer_core.corpora.storage.kept_arrays import arrays_in_memory
from transformer_core.corpora.storage.kept_items import DTYPES, KeptItems, write_items
from transformer_core.corpora.storage.token_store import TokenStore, tokenize
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer

TEXTS = ["one fish", "two fish, red fish", "", "blue fish — 蓝鱼 🐟", "<eos>", "one\nfish"]

texts = st.lists(st.sampled_from(TEXTS) | st.text(max_size=9), max_size=9)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("HEADLIGHT_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS, kind="byte_bpe", vocab_size=280)


@pytest.fixture
def keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORTH_KEEPING", 1)


def rows_of(store: TokenStore) -> list[list[int]]:
    starts = store.starts.tolist()
    return [store.tokens[start:end].tolist() for start, end in pairwise(starts)]


def one_by_one(texts: list[str], tokenizer: Tokenizer) -> list[list[int]]:
    return [tokenizer.encode(text, bos=True, eos=True) for text in texts]


@given(texts, st.integers(1, 20))
def test_texts(tokenizer: Tokenizer, texts: list[str], together: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOGETHER", together)  # characters at a time
        store = tokenize([Text(text) for text in texts], tokenizer)
    assert rows_of(store) == one_by_one(texts, tokenizer)
    assert len(store) == len(texts)
    assert store.lengths().tolist() == [len(row) for row in one_by_one(texts, tokenizer)]


@pytest.mark.usefixtures("keep_all")
def test_what_is_kept_is_the_same_and_is_not_made_again(tokenizer: Tokenizer):
    items, actual = [Text(text) for text in TEXTS], []
    stores = [tokenize(items, tokenizer, on_progress=lambda done, of: actual.append((done, of))) for _ in range(2)]
    assert actual == [(len(TEXTS), len(TEXTS))]
    for store in stores:
        assert rows_of(store) == one_by_one(TEXTS, tokenizer)


@pytest.mark.usefixtures("keep_all")
def test_other_texts_or_another_tokenizer_are_encoded_anew(tokenizer: Tokenizer):
    other = train_tokenizer(TEXTS, kind="byte_bpe", vocab_size=270)
    for texts in (["1 a\n2 b"], ["1 a", "2 b"], ["1 a\n", "2 b"], ["1 a", "2 b", ""], ["1", "a\n2", "b"]):
        for which in (tokenizer, other):
            assert rows_of(tokenize([Text(text) for text in texts], which)) == one_by_one(texts, which)


@pytest.mark.usefixtures("keep_all")
def test_what_has_a_fingerprint_is_found_without_being_read(tokenizer: Tokenizer):
    class Unread(KeptItems):
        """Items that nobody may ask for."""

        def __iter__(self) -> Iterator[Pair | Text]:
            raise AssertionError("all of it was read")

    items = [Pair(text, text[::-1]) for text in TEXTS]
    arrays = arrays_in_memory(DTYPES, lambda sinks: write_items(items, sinks))
    kept: Sequence[Any] = KeptItems(arrays, fingerprint="of these pairs")
    unread: Sequence[Any] = Unread(arrays, fingerprint="of these pairs")
    first, again = tokenize(kept, tokenizer), tokenize(unread, tokenizer)
    assert rows_of(first) == rows_of(again) == one_by_one([t for text in TEXTS for t in (text, text[::-1])], tokenizer)
    assert rows_of(tokenize(kept[1:3], tokenizer)) == rows_of(first)[2:6]


@pytest.mark.parametrize(("vocab_size", "dtype"), [(2**16, np.uint16), (2**16 + 1, np.uint32)])
def test_the_largest_token_has_room(tokenizer: Tokenizer, vocab_size: int, dtype: type):
    class Large(type(tokenizer)):  # type: ignore[misc]
        vocab_size = 0

        def encode_batch(self, texts: list[str]) -> list[list[int]]:
            return [[self.vocab_size - 1] for _ in texts]

    Large.vocab_size = vocab_size
    store = tokenize([Text("x")], Large(tokenizer._backend, "byte_bpe"))  # type: ignore[attr-defined]
    assert store.tokens.dtype == dtype
    assert store.tokens[1] == vocab_size - 1
