"""Held-out texts of a corpus in a file that changes: those that the weights at hand were trained beside."""

from pathlib import Path

import pytest

from pages.explore.compare.samples import N_SAMPLED, _held_out
from transformer_core.corpora import load_corpus
from transformer_core.corpora.reading import CorpusReading


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "mine.txt"
    for word in ("secret", "public"):
        file.write_text("".join(f"{word} {i}\n" for i in range(40)), encoding="utf-8")
        texts = _held_out(str(file), 0, CorpusReading(), "decoder_only")
        assert texts
        assert all(text.startswith(word) for text in texts)


def test_a_sample_of_a_corpus_is_spread_over_what_its_own_seed_holds_out():
    samples = [_held_out("copy", seed, CorpusReading(), "encoder_decoder") for seed in (1, 2)]
    held_out = [item.source for item in load_corpus("copy", seed=2).held_out]
    assert samples[1] == tuple(held_out[:: len(held_out) // N_SAMPLED]) and len(samples[1]) == N_SAMPLED
    assert not set(held_out).issuperset(samples[0])
