"""Findings about a corpus before training, of real files; and none about a sound one."""

from pathlib import Path
from typing import Any

import pytest

from headlight.corpora.analysis import stats_of
from headlight.corpora.checks import check, n_rows
from headlight.corpora.corpus_stats import CorpusStats
from transformer_core.config import Architecture
from transformer_core.corpora import CorpusReading, load_corpus
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus_tokenizer import tokenizer_of

pytestmark = pytest.mark.usefixtures("cache")

WORDS = "one two three four five six seven eight nine ten".split()
SENTENCES = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS]


def compute_stats(folder: Path, name: str, content: str, **reading: Any) -> CorpusStats:
    (folder / name).write_text(content, encoding="utf-8")
    return stats_of(str(folder / name), reading=CorpusReading(**reading))


def sentences_of(stats: CorpusStats, *, max_seq_len: int = 64, batch_size: int = 16) -> str:
    findings = check(stats, max_seq_len=max_seq_len, batch_size=batch_size)
    return "\n".join(str(finding.sentence) for finding in findings)


def test_of_sound_corpora_nothing_is_told(tmp_path: Path):
    assert sentences_of(compute_stats(tmp_path, "a.txt", "\n".join(SENTENCES))) == ""
    reversed_ = (f"{text}\t{' '.join(text.split()[::-1])}" for text in SENTENCES)
    assert sentences_of(compute_stats(tmp_path, "a.tsv", "\n".join(reversed_))) == ""


@pytest.mark.parametrize(
    ("name", "content", "reading", "sentence"),
    [
        ("a.txt", "word " * 200, {"tokens": "word"}, "The whole text is a single repeated token, word"),
        ("a.txt", "the same line\n" * 200, {}, "The text is repetitive"),
        ("a.txt", "the same line\n" * 200 + "other one\n", {"division": "lines"}, "Only 1 of 200 texts are distinct"),
        ("a.txt", "\n".join(SENTENCES[:12]), {}, "(11 pairs or windows) is smaller than one batch (16)"),
        ("a.txt", "\n".join(SENTENCES[:40]), {}, r"held-out set is very small (2)"),
        ("a.txt", "\n".join(f"word{i} x{i}" for i in range(300)), {"tokens": "word"}, "100% of the held-out tokens"),
        ("a.tsv", "\n".join(f"{text}\tyes" for text in SENTENCES), {}, "All targets are identical"),
        ("a.tsv", "\n".join(f"{text}\t{text}" for text in SENTENCES), {}, "950 of 950 targets are identical to"),
    ],
)
def test_what_is_degenerate_is_told(tmp_path: Path, name: str, content: str, reading: dict[str, Any], sentence: str):
    assert sentence in sentences_of(compute_stats(tmp_path, name, content, **reading))


def test_pairs_that_are_too_long_are_counted_and_refused(tmp_path: Path):
    lines = [f"{text}\t{text} !" for text in SENTENCES[:200]]
    lines += [f"{'one ' * 40}{text}\tlong" for text in SENTENCES[:7]]
    stats = compute_stats(tmp_path, "a.tsv", "\n".join(lines), tokens="word")
    (finding,) = (finding for finding in check(stats, max_seq_len=40, batch_size=16) if finding.is_fatal)
    assert str(finding.sentence).startswith("7 sources are too long for the model: up to 44 tokens, including <eos>")
    assert "Raise max_seq_len to 44" in str(finding.sentence)
    assert not [finding for finding in check(stats, max_seq_len=44, batch_size=16) if finding.is_fatal]


def test_an_encoder_puts_two_tokens_around_a_text_and_a_decoder_one(tmp_path: Path):
    (tmp_path / "a.txt").write_text("\n".join([*SENTENCES, "one two " * 30]), encoding="utf-8")
    sizes: dict[Architecture, int] = {"encoder_only": 62, "decoder_only": 61}
    for architecture, most in sizes.items():
        tokens = CorpusReading(tokens="word")
        stats = stats_of(str(tmp_path / "a.txt"), reading=tokens, architecture=architecture)
        assert check(stats, max_seq_len=most, batch_size=16) == []
        (finding,) = check(stats, max_seq_len=most - 1, batch_size=16)
        assert str(finding.sentence).startswith(f"1 text is longer than {most - 1} tokens") and not finding.is_fatal


def test_rows_of_an_epoch(tmp_path: Path):
    assert n_rows(compute_stats(tmp_path, "a.tsv", "a\tb\nc\td\ne\tf"), 8) == 2


@pytest.mark.parametrize("architecture", ["decoder_only", "encoder_only"])
@pytest.mark.parametrize(("max_seq_len", "stride"), [(100, None), (10, 1), (7, 3), (64, 64), (5000, None)])
def test_windows_of_a_running_text_are_as_many_as_batches_have(
    tmp_path: Path, architecture: Architecture, max_seq_len: int, stride: int | None
):
    (tmp_path / "a.txt").write_text("a b" * 1000, encoding="utf-8")
    reading = CorpusReading(tokens="character", division="stream")
    stats = stats_of(str(tmp_path / "a.txt"), reading=reading, architecture=architecture)
    corpus = load_corpus(str(tmp_path / "a.txt"), reading=reading)
    tokenizer = tokenizer_of(corpus, architecture)
    size: dict[str, Any] = {"max_seq_len": max_seq_len, "batch_size": 4}
    batches = batches_for(corpus.train, tokenizer, architecture, **size, seed=0, stride=stride)
    assert n_rows(stats, max_seq_len, stride) == batches.n_rows
