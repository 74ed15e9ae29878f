"""Stats that are kept: under all that they depend on, and found without torch."""

import json
import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from transformer_core.corpora import CorpusReading, analysis, corpus_stats
from transformer_core.corpora.analysis import stats_of
from transformer_core.corpora.corpus_stats import CorpusStats, kept_stats
from transformer_core.corpora.reading import AS_MADE

ROOT = Path(__file__).resolve().parents[2]
LINES = [f"{who} has {n} {what}" for n in range(12) for who in ("Mia", "the fox") for what in ("eggs", "old hats")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def texts(tmp_path: Path) -> str:
    (tmp_path / "lines.txt").write_text("\n".join(LINES), encoding="utf-8")
    return str(tmp_path / "lines.txt")


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    (tmp_path / "pairs.tsv").write_text("\n".join(f"{line}\t{line.split()[-1]} !" for line in LINES), encoding="utf-8")
    return str(tmp_path / "pairs.tsv")


def test_it_is_json_and_back(texts: str, pairs: str):
    for name in (texts, pairs):
        found = stats_of(name)
        assert CorpusStats.from_json(found.to_json()) == found
        assert json.loads(found.to_json()).keys() == {field.name for field in fields(CorpusStats)}


def test_it_is_found_again_and_not_made_again(texts: str, monkeypatch: pytest.MonkeyPatch):
    assert kept_stats(texts, AS_MADE, "decoder_only") is None
    found = stats_of(texts)
    assert kept_stats(texts, AS_MADE, "decoder_only") == found
    monkeypatch.setattr(analysis, "compute_stats", None)  # so nothing can be made
    assert stats_of(texts) == found
    monkeypatch.chdir(Path(texts).parent)
    assert kept_stats("lines.txt", AS_MADE, "decoder_only") == found


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
    found = stats_of(str(folder))
    assert kept_stats(str(folder), AS_MADE, "decoder_only") == found
    (folder / "more.txt").write_text("one more\n")
    assert kept_stats(str(folder), AS_MADE, "decoder_only") is None


def test_what_is_damaged_is_made_again(texts: str, cache: Path):
    found = stats_of(texts)
    [kept] = cache.glob("statistics-*")
    (kept / "bytes").write_bytes(b"{}")
    assert kept_stats(texts, AS_MADE, "decoder_only") is None
    assert stats_of(texts) == found


def test_where_nothing_can_be_kept(texts: str, cache: Path, monkeypatch: pytest.MonkeyPatch):
    found = stats_of(texts)
    monkeypatch.setenv("HEADLIGHT_CACHE", str(Path(texts) / "inside"))
    assert stats_of(texts) == found
    assert kept_stats(texts, AS_MADE, "decoder_only") is None


@pytest.mark.slow
def test_a_kept_one_is_found_without_torch(texts: str):
    stats_of(texts)
    program = f"""
import sys
from transformer_core.corpora.corpus_stats import kept_stats
from transformer_core.corpora.reading import AS_MADE
assert kept_stats({texts!r}, AS_MADE, "decoder_only") is not None
assert "torch" not in sys.modules and "tokenizers" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_readings_are_compared_by_what_they_say(texts: str):
    stats_of(texts, reading=CorpusReading(vocab_size=300))
    same = replace(CorpusReading(vocab_size=280), vocab_size=300)
    assert kept_stats(texts, same, "decoder_only") is not None
