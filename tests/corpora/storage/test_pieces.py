"""Windows of a running text: end to end, elsewhere in each epoch, and measured on from the beginning."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_core.corpora.batch_order import IGNORED, Batches
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.storage import file_items as running_text_module
from transformer_core.corpora.storage.file_items import RunningText, running_text
from transformer_core.corpora.storage.text_files import TextFiles, check_text_file
from transformer_core.corpora.storage.token_store import MovingPieces, Pieces, TokenStore, first_windows, n_windows
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer

BOS, EOS = 1, 2
ALPHABET = "abcdefghijklmnopqrstuvwxyzäöü .,\n"
TEXT = "".join(random.Random(0).choices(ALPHABET, k=1_000))  # no five letters of it come twice


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([ALPHABET], kind="character", mask=True)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunningText, RunningText]:
    """A text of 1,000 characters, in many stretches."""
    path = tmp_path_factory.mktemp("pieces") / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running_text_module, "_STRETCH", 16)
        patch.setattr(running_text_module, "_LONGEST_WAIT", 8)
        return running_text(TextFiles(path, [check_text_file(path)]), fingerprint="f" * 64)


def text_of(part: Sequence[Any]) -> str:
    return "".join(stretch.text for stretch in part)


def epoch_of(batches: Batches) -> list[tuple[list[int], list[int]]]:
    """All rows of one epoch, with their targets."""
    rows = []
    for _ in range(batches.batches_per_epoch):
        batch = next(batches)
        rows += list(zip(batch.inputs[0].tolist(), batch.targets.tolist(), strict=True))
    return rows


for_a_decoder: Callable[..., Batches] = partial(
    batches_for, architecture="decoder_only", max_seq_len=16, batch_size=4, seed=0
)
for_an_encoder: Callable[..., Batches] = partial(
    batches_for, architecture="encoder_only", max_seq_len=16, batch_size=4, seed=0
)


@pytest.mark.parametrize("max_seq_len", [1, 5, 64, 5_000])
def test_a_decoder_is_measured_on_all_windows_from_the_beginning(
    parts: tuple[RunningText, RunningText], tokenizer: Tokenizer, max_seq_len: int
):
    tokens = tokenizer.encode(text_of(parts[1]))
    expected: Counter[Any] = Counter()
    for start in range(0, len(tokens) - 1, max_seq_len):
        targets = tokens[start + 1 : start + 1 + max_seq_len]
        expected[tuple(tokens[start : start + len(targets)]), tuple(targets)] += 1
    actual: Counter[Any] = Counter()
    for row, targets in epoch_of(for_a_decoder(parts[1], tokenizer, max_seq_len=max_seq_len)):
        n = sum(target != IGNORED for target in targets)
        assert set(targets[n:]) <= {IGNORED}
        actual[tuple(row[:n]), tuple(targets[:n])] += 1
    assert actual == expected
    assert sum(len(targets) for _, targets in actual.elements()) == len(tokens) - 1


def test_one_window_in_sixteen_begins_with_bos_where_a_model_learns_and_none_where_it_is_measured(
    parts: tuple[RunningText, RunningText], tokenizer: Tokenizer
):
    learning, measuring = for_a_decoder(parts[0], tokenizer), for_a_decoder(parts[0][:], tokenizer)
    n_begun = n_rows = 0
    for _ in range(40):
        for row, targets in epoch_of(learning):
            n_begun += row[0] == BOS
            n_rows += 1
            assert row[1:] == targets[:-1] and BOS not in targets and EOS not in targets
    assert abs(n_begun / n_rows - 1 / 16) < 4 * (1 / 16 * 15 / 16 / n_rows) ** 0.5
    assert not any(BOS in row for row, _ in epoch_of(measuring))


@pytest.mark.parametrize("max_seq_len", [3, 16, 64])
def test_an_encoder_guesses_in_windows_with_both_ends(
    parts: tuple[RunningText, RunningText], tokenizer: Tokenizer, max_seq_len: int
):
    tokens = tokenizer.encode(text_of(parts[1]))
    expected = Counter(
        tuple(tokens[start : min(start + max_seq_len - 2, len(tokens) - 1)])
        for start in range(1, len(tokens) - 1, max_seq_len - 2)
    )
    actual: Counter[Any] = Counter()
    for row, targets in epoch_of(for_an_encoder(parts[1], tokenizer, max_seq_len=max_seq_len)):
        end = row.index(EOS)
        assert row[0] == BOS and targets[0] == targets[end] == IGNORED
        assert len(row) <= max_seq_len
        pairs = zip(row[1:end], targets[1:end], strict=True)
        actual[tuple(token if target == IGNORED else target for token, target in pairs)] += 1
    assert actual == expected


@given(st.integers(0, 60), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=12)
def test_a_run_that_goes_on_sees_what_it_would_have_seen(
    parts: tuple[RunningText, RunningText], tokenizer: Tokenizer, n_taken: int, seed: int, encoder: bool
):
    make = for_an_encoder if encoder else for_a_decoder
    unbroken, resumed = (make(parts[0], tokenizer, seed=seed) for _ in range(2))
    for _ in range(n_taken):
        next(unbroken)
    resumed.seek(unbroken.position)
    for _ in range(16):
        expected, batch = next(unbroken), next(resumed)
        assert torch.equal(expected.inputs[0], batch.inputs[0])
        assert torch.equal(expected.targets, batch.targets)
        assert unbroken.position == resumed.position


def test_a_part_of_the_stretches_is_cut_where_they_do_not_go_on(
    parts: tuple[RunningText, RunningText], tokenizer: Tokenizer
):
    some: Sequence[Any] = parts[0][::3][1:5]
    expected: Counter[Any] = Counter()
    for stretch in some:
        tokens = tokenizer.encode(stretch.text)
        for start in range(0, len(tokens) - 1, 5):
            expected[tuple(tokens[start + 1 : start + 6])] += 1
    rows = epoch_of(for_a_decoder(some, tokenizer, max_seq_len=5))
    assert Counter(tuple(t for t in targets if t != IGNORED) for _, targets in rows) == expected


@given(st.integers(2, 200), st.integers(1, 60), st.integers(0, 2), st.integers(0, 99))
def test_moving_pieces_are_full_and_bring_nothing_twice(n_tokens: int, n_brought: int, n_around: int, seed: int):
    store = TokenStore(np.arange(n_tokens), np.array([0, n_tokens]))
    if n_tokens <= n_around:
        with pytest.raises(CorpusError, match=rf"has {n_tokens} tokens for training, but at least {n_around + 1} are"):
            MovingPieces(store, n_brought=n_brought, n_around=n_around)
        return
    pieces = MovingPieces(store, n_brought=n_brought, n_around=n_around)
    brought = min(n_brought, n_tokens - n_around)
    counts = set()
    for epoch in range(5):
        pieces.move(np.random.default_rng((seed, epoch)))
        starts, lengths = pieces.windows(np.arange(len(pieces)))
        assert set(lengths) == {brought + n_around}
        assert set(np.diff(starts)) <= {brought}
        assert starts[0] >= 0 and starts[-1] + lengths[-1] <= n_tokens
        n_left_out = n_tokens - n_around - len(pieces) * brought
        assert 0 <= n_left_out < 2 * brought
        counts.add(len(pieces))
    assert len(counts) == 1


def test_there_must_be_room_for_a_token():
    store = TokenStore(np.arange(9), np.array([0, 9]))
    for kind in (Pieces, MovingPieces):
        with pytest.raises(CorpusError, match=r"max_seq_len \(2\) leaves no room .* at least 3"):
            kind(store, n_brought=0, n_around=2)


@given(st.lists(st.integers(0, 99), max_size=60), st.integers(1, 20), st.integers(1, 20), st.integers(1, 5))
def test_windows_are_slices_and_inputs_are_one_earlier(stream: list[int], length: int, stride: int, n: int):
    inputs, targets = first_windows(np.array(stream, np.uint16), length=length, stride=stride, n=n, bos_id=100)
    shifted = [100, *stream[:-1]]
    starts = [start for start in range(0, len(stream), stride) if start + length <= len(stream)][:n]
    assert targets.tolist() == [stream[start : start + length] for start in starts]
    assert inputs.tolist() == [shifted[start : start + length] for start in starts]
    assert inputs.shape == targets.shape == (len(starts), length)


def test_a_text_too_short_for_a_window_counts_as_one():
    assert [n_windows(n, n_brought=8, n_around=1) for n in range(4)] == [1] * 4
