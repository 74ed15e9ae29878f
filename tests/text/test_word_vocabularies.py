"""Vocabularies in pickles of other programs: read without running anything in them."""

import os
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer_core.text.load import has_tokenizer
from transformer_core.text.word_vocabularies import read_pair

ENGLISH = ["<s>", "</s>", "<blank>", "<unk>", "the", "cat", "sleeps"]
FRENCH = ["<s>", "</s>", "<blank>", "<unk>", "le", "chat"]
SPECIAL = {"pad": 2, "bos": 0, "eos": 1}


class Vocabulary:
    """Like those of torchtext: a list of words, and the ids of words with a default."""

    def __init__(self, words: list[str]) -> None:
        self.itos, self.freqs = words, dict.fromkeys(words, 7)
        self.stoi = defaultdict(int, {word: i for i, word in enumerate(words)})


class State:
    """Like a compiled vocabulary, whose state is a tuple."""

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def __reduce__(self) -> tuple[Any, ...]:
        return State, ([],), ("0.0.2", [], self.words, [])

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.words = state[2]


@pytest.mark.parametrize(
    "content",
    [
        (Vocabulary(ENGLISH), Vocabulary(FRENCH)),
        (State(ENGLISH), State(FRENCH)),
        {"vocab": {"trg": Vocabulary(FRENCH), "src": Vocabulary(ENGLISH)}, "weights": torch.ones(3)},
        [{word: i for i, word in enumerate(words)} for words in (ENGLISH, FRENCH)],
    ],
)
@pytest.mark.parametrize("is_of_torch", [True, False])
def test_the_words_of_both_sides_are_found_by_their_number(content: Any, is_of_torch: bool, tmp_path: Path):
    path = tmp_path / ("vocab.pt" if is_of_torch else "vocab.pkl")
    torch.save(content, path) if is_of_torch else path.write_bytes(pickle.dumps(content))
    tokenizer = read_pair(tmp_path, (7, 6), SPECIAL)
    assert tokenizer is not None and not has_tokenizer(tmp_path)
    assert tokenizer.encode_for("the cat barks", "encoder_decoder") == [0, 4, 5, 3, 1]
    assert tokenizer.target.encode_for("le chat", "encoder_decoder") == [4, 5, 1]
    assert tokenizer.labels_for("the dog", "encoder_decoder") == ["<s>", "the", "<unk> dog", "</s>"]
    assert tokenizer.target.decode([0, 4, 5, 1]) == "le chat"
    assert read_pair(tmp_path, (7, 9), SPECIAL) is None


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (os.environ["HARM"],)


def test_nothing_in_a_file_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HARM", str(tmp_path / "harm"))
    torch.save([Harmful(), ENGLISH, FRENCH], tmp_path / "vocab.pt")
    assert read_pair(tmp_path, (7, 6), SPECIAL) is not None
    assert not (tmp_path / "harm").exists()
    (tmp_path / "vocab.pt").write_bytes(b"\x80\x04]\x94.")
    (tmp_path / "vocab.pkl").write_bytes(b"no pickle")
    assert read_pair(tmp_path, (7, 6), SPECIAL) is None
