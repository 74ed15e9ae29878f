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
from headlight.corpora.corpus_stats import kept_stats
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
