"""Real texts: the Shakespeare of nanoGPT, and a book in GPT-2's tokens."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from transformer_core.corpora import CorpusReading, load_corpus
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus_tokenizer import tokenizer_of
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.corpora.storage.token_store import first_windows

BEGINNING = [14126, 352, 628, 198, 198, 1026, 373, 257, 6016, 4692, 1110]  # "Chapter 1 ... a bright cold day"


def test_every_speech_is_read_once(shared_data: Path):
    path = shared_data / "corpora" / "tinyshakespeare.txt"
    corpus = open_corpus(path)
    speeches = {speech.strip() for speech in path.read_text(encoding="utf-8").split("\n\n")}
    assert {text.text for part in (corpus.train, corpus.held_out) for text in part} == speeches
    assert {text.text for text in corpus.train}.isdisjoint(text.text for text in corpus.held_out)
    assert len(corpus.held_out) == len(speeches) // 20


def test_a_book_in_gpt2_s_tokens(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    folder = shutil.copytree(shared_data / "tokenizers" / "gpt2", tmp_path / "gpt2")
    path = tmp_path / "book.txt"
    path.write_text("Chapter 1\n\n\n\nIt was a bright cold day" + " and the clocks were striking thirteen." * 20)
    corpus = load_corpus(str(path), reading=CorpusReading(tokens=str(folder), division="stream"))
    tokenizer = tokenizer_of(corpus, "decoder_only")
    assert (tokenizer.vocab_size, tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id) == (50257, 50256, 50256, None)
    stream = tokenizer.encode("".join(text.text for text in corpus.train))
    assert stream[:11] == BEGINNING
    batches = batches_for(corpus.train, tokenizer, "decoder_only", max_seq_len=10, batch_size=10_000, seed=0, stride=1)
    batch = next(batches)
    rows = {
        (tuple(row[1:]), tuple(targets))
        for row, targets in zip(batch.inputs[0].tolist(), batch.targets.tolist(), strict=True)
    }
    n_windows = len(stream) - 10
    assert batches.n_rows == n_windows
    assert rows == {(tuple(stream[i + 1 : i + 10]), tuple(stream[i + 1 : i + 11])) for i in range(n_windows)}
    inputs, targets = first_windows(np.array(stream[:11]), length=10, stride=1, n=4, bos_id=50256)
    assert targets.tolist() == [BEGINNING[:10], BEGINNING[1:]]
    assert inputs.tolist() == [[50256, *BEGINNING[:9]], BEGINNING[:10]]
