"""Stats: every number against plain counting, kept under all that it depends on, and found without torch."""

import math
import os
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from headlight.corpora import analysis, corpus_stats
from headlight.corpora.analysis import stats_of
from headlight.corpora.corpus_stats import CorpusStats, check, kept_stats, n_rows
from transformer_core.config import Architecture
from transformer_core.corpora import CorpusReading, load_corpus
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Pair
from transformer_core.corpora.corpus_tokenizer import tokenizer_of
from transformer_core.corpora.reading import AS_MADE
from transformer_core.corpora.storage import token_store
from transformer_core.errors import CorpusError

pytestmark = pytest.mark.usefixtures("cache")

LINES = [f"{who} has {n} {what}" for n in range(12) for who in ("Mia", "the fox") for what in ("eggs", "old hats")]


@pytest.fixture
def texts(tmp_path: Path) -> str:
    (tmp_path / "lines.txt").write_text("\n".join(LINES), encoding="utf-8")
    return str(tmp_path / "lines.txt")


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    (tmp_path / "pairs.tsv").write_text("\n".join(f"{line}\t{line.split()[-1]} !" for line in LINES), encoding="utf-8")
    return str(tmp_path / "pairs.tsv")


def percentile(lengths: list[int], share: float) -> int:
    return sorted(lengths)[math.ceil(share * len(lengths)) - 1]


@pytest.mark.parametrize(
    ("tokens", "architecture"),
    [("word", "decoder_only"), ("character", "encoder_only"), ("byte_bpe", "decoder_only")],
)
def test_of_texts(texts: str, tokens: Any, architecture: Architecture):
    reading = CorpusReading(tokens=tokens, vocab_size=300)
    stats = stats_of(texts, reading=reading, architecture=architecture)
    corpus = load_corpus(texts, reading=reading)
    tokenizer = tokenizer_of(corpus, architecture)
    train, held_out = ([tokenizer.encode(item.text) for item in part] for part in (corpus.train, corpus.held_out))
    counts = Counter(chain.from_iterable(train))
    assert (stats.n_train, stats.n_held_out, stats.items) == (len(train), len(held_out), "texts")
    assert stats.n_train_tokens == counts.total()
    assert stats.n_held_out_tokens == sum(map(len, held_out))
    lengths = list(map(len, train + held_out))
    assert stats.lengths.keys() == {"text"}
    measured = stats.lengths["text"]
    expected = percentile(lengths, 0.5), percentile(lengths, 0.95), max(lengths)
    assert (measured.median, measured.percentile_95, measured.longest) == expected
    assert [frequency.count for frequency in stats.frequent] == sorted(counts.values(), reverse=True)[:20]
    assert stats.vocab_size == tokenizer.vocab_size and stats.tokenizer_kind == tokens
    n_targets = counts.total() + (len(train) if architecture == "decoder_only" else 0)
    assert stats.n_counted == n_targets
    assert 0 < stats.bigram_loss < stats.unigram_loss < math.log(tokenizer.vocab_size)
    assert (stats.name, stats.fingerprint, stats.architecture) == ("lines", corpus.fingerprint, architecture)
    assert len(stats.samples) == 10 and {sample for [sample] in stats.samples} <= set(LINES)


def test_of_pairs(pairs: str):
    stats = stats_of(pairs)
    corpus = load_corpus(pairs)
    tokenizer = tokenizer_of(corpus, "encoder_decoder")
    every = [*corpus.train, *corpus.held_out]
    assert (stats.items, stats.architecture) == ("pairs", "encoder_decoder")
    for side in ("source", "target"):
        assert stats.lengths[side].longest == max(len(tokenizer.encode(getattr(pair, side))) for pair in every)
    sides = [[tokenizer.encode(text) for text in (pair.source, pair.target)] for pair in corpus.train]
    assert stats.n_train_tokens == sum(len(source) + len(target) for source, target in sides)
    assert stats.n_counted == sum(len(target) + 1 for _, target in sides)  # with <eos>
    assert stats.n_judged == sum(len(tokenizer.encode(pair.target)) + 1 for pair in corpus.held_out)
    assert {Pair(source, target) for source, target in stats.samples} <= set(corpus.train)


def test_unknown_words_are_counted(tmp_path: Path):
    path = tmp_path / "words.txt"
    path.write_text("\n".join(f"a word{i} {'b' * 999}" for i in range(40)))
    stats = stats_of(str(path), reading=CorpusReading(tokens="word"))
    assert stats.unknown_share == pytest.approx(1 / 3)  # the one in the middle is in no other line
    assert stats_of(str(path)).unknown_share == 0
    assert all(len(sample) == 304 and sample.endswith("b ...") for [sample] in stats.samples)  # cut, being long


def test_what_a_model_cannot_learn_from_has_no_stats(texts: str, cache: Path):
    with pytest.raises(CorpusError, match="this corpus consists of texts"):
        stats_of(texts, architecture="encoder_decoder")
    for name in ("no/where.txt", "no\0where", "program:no\0where"):
        with pytest.raises(CorpusError, match=r"no.*where"):
            kept_stats(name, AS_MADE, "decoder_only")
    assert not list(cache.glob("statistics-*"))


def test_a_training_finds_all_that_it_needs(texts: str, cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(token_store, "_WORTH_KEEPING", 1)
    stats_of(texts)
    kept = sorted(cache.iterdir())
    assert [path.name.partition("-")[0] for path in kept] == ["statistics", "tokenizer", "tokens", "tokens"]
    corpus = load_corpus(texts)
    tokenizer = tokenizer_of(corpus, "decoder_only")
    for part in (corpus.train, corpus.held_out):
        batches_for(part, tokenizer, "decoder_only", max_seq_len=8, batch_size=4, seed=0)
    assert sorted(cache.iterdir()) == kept


def test_it_is_found_again_and_not_made_again(texts: str, monkeypatch: pytest.MonkeyPatch):
    assert kept_stats(texts, AS_MADE, "decoder_only") is None
    stats = stats_of(texts)
    assert kept_stats(texts, AS_MADE, "decoder_only") == stats
    monkeypatch.setattr(analysis, "compute_stats", None)  # so nothing can be made
    assert stats_of(texts) == stats
    monkeypatch.chdir(Path(texts).parent)
    assert kept_stats("lines.txt", AS_MADE, "decoder_only") == stats


def test_what_it_depends_on_tells_it_apart(texts: str, monkeypatch: pytest.MonkeyPatch):
    stats_of(texts)
    assert kept_stats(texts, CorpusReading(tokens="character"), "decoder_only") is None
    assert kept_stats(texts, AS_MADE, "encoder_only") is None
    assert kept_stats("copy", AS_MADE, "encoder_decoder") is None
    with monkeypatch.context() as patch:
        patch.setattr(corpus_stats, "CODE_OF_CORPORA", "0" * 64)
        assert kept_stats(texts, AS_MADE, "decoder_only") is None
    written = os.stat(texts).st_mtime_ns
    for later in (written + 1, written + 10**9):  # with as many bytes as before
        os.utime(texts, ns=(later, later))
        assert kept_stats(texts, AS_MADE, "decoder_only") is None
    os.utime(texts, ns=(written, written))
    assert kept_stats(texts, AS_MADE, "decoder_only") is not None
    Path(texts).write_text("other\nlines\n")
    assert kept_stats(texts, AS_MADE, "decoder_only") is None
    assert stats_of(texts).n_train == 1


def test_a_folder_is_known_by_all_its_files(tmp_path: Path, texts: str):
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    for i in range(3):
        (folder / "deep" / f"{i}.txt").write_text(f"{i} is a number\n")
    stats = stats_of(str(folder))
    assert kept_stats(str(folder), AS_MADE, "decoder_only") == stats
    (folder / "more.txt").write_text("one more\n")
    assert kept_stats(str(folder), AS_MADE, "decoder_only") is None


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
