"""Shipped corpora: every item, read independently."""

import json
import lzma
import shutil
import sys
from pathlib import Path

import pytest

from transformer_core.corpora import load_corpus
from transformer_core.corpora.shipped import items
from transformer_core.errors import CorpusError

SIZES = {"en-fr": (36_000, 2_000), "stories": (40_000, 2_000)}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.usefixtures("cache")
def test_all_items_are_those_of_the_files_and_the_fingerprint_is_that_of_the_shipped_model(name: str):
    card = json.loads(Path("checkpoints", name, "card.json").read_text(encoding="utf-8"))
    corpus = load_corpus(name)
    assert corpus.fingerprint == card["corpus"]["fingerprint"]
    assert (len(corpus.train), len(corpus.held_out)) == SIZES[name]
    keys = ("source", "target", "alignment", "antecedents") if corpus.is_pairs else ("text",)
    for part in ("train", "held_out"):
        with lzma.open(items.FOLDER / name.replace("-", "_") / f"{part}.jsonl.xz", "rt", encoding="utf-8") as file:
            for line, item in zip(file, getattr(corpus, part), strict=True):
                values = {key: getattr(item, key) for key in keys}
                assert json.dumps(values, ensure_ascii=False, separators=(",", ":")) == line.rstrip("\n")


def test_another_seed_is_refused():
    with pytest.raises(CorpusError, match=r"en-fr is only available as drawn with seed 0, not with seed 7; leave"):
        load_corpus("en-fr", seed=7)


@pytest.mark.usefixtures("cache")
def test_a_missing_or_damaged_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(items.FOLDER / "stories", tmp_path / "stories")
    monkeypatch.setattr(items, "FOLDER", tmp_path)
    held_out = tmp_path / "stories" / "held_out.jsonl.xz"
    held_out.write_bytes(held_out.read_bytes()[:1_000])
    with pytest.raises(CorpusError, match=r"held_out.jsonl.xz cannot be read \(.*\); install Headlight again"):
        load_corpus("stories")
    held_out.unlink()
    with pytest.raises(CorpusError, match=r"held_out.jsonl.xz cannot be read"):
        load_corpus("stories")


@pytest.mark.usefixtures("cache")
def test_a_python_without_lzma_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(CorpusError, match="en-fr cannot be read: this Python was built without the module lzma"):
        load_corpus("en-fr")
