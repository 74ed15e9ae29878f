"""Held-out texts of a corpus in a file that changes: those that the weights at hand were trained beside."""

from pathlib import Path

import pytest

from pages.explore.compare.samples import N_SAMPLED, held_out
from transformer_core.corpora import load_corpus
from transformer_core.corpora.reading import CorpusReading


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "mine.txt"
    for word in ("secret", "public"):
        file.write_text("".join(f"{word} {i}\n" for i in range(40)), encoding="utf-8")
        texts = held_out(str(file), 0, CorpusReading(), "decoder_only")
        assert texts
        assert all(text.startswith(word) for text in texts)


def test_a_sample_of_a_corpus_is_spread_over_what_its_own_seed_holds_out():
    samples = [held_out("copy", seed, CorpusReading(), "encoder_decoder") for seed in (1, 2)]
    kept_back = [item.source for item in load_corpus("copy", seed=2).held_out]
    assert samples[1] == tuple(kept_back[:: len(kept_back) // N_SAMPLED]) and len(samples[1]) == N_SAMPLED
    assert not set(kept_back).issuperset(samples[0])


def test_a_sample_of_a_file_is_held_out_as_the_training_read_it(tmp_path: Path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"This is line {i} of a text.\n" for i in range(100)))
    sample = held_out(str(path), 0, CorpusReading(division="stream"), "decoder_only")
    assert all("line 9" in text for text in sample) and "line 99" in sample[-1]  # the last tenth
