"""Corpora from files: a file is a corpus, or a sentence says why not."""

import codecs
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transformer_core.corpora import CorpusReading
from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.storage import file_items, files
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.errors import CorpusError

POEM = "\n\n".join(f"Verse {i}\nhas two lines." for i in range(40))
ROWS = "\n".join(f"the number {i}\tle nombre {i}" for i in range(60))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_stretches_between_blank_lines(tmp_path: Path):
    corpus = open_corpus(written(tmp_path, "my-poem_2.txt", POEM))
    assert not corpus.is_pairs
    assert {*corpus.train, *corpus.held_out} == {Text(f"Verse {i}\nhas two lines.") for i in range(40)}
    assert (len(corpus.train), len(corpus.held_out)) == (38, 2)
    assert (corpus.name, corpus.title) == ("my-poem_2", "My poem 2")
    assert str(corpus.description).startswith("38 texts, separated by blank lines, from my-poem_2.txt (1.0 kB); 2 more")
    assert len(open_corpus(written(tmp_path, "notes.md", "# Notes\n\n- a\n- b\n")).train) == 2  # lines
    assert corpus.tokenizer_kind == "byte_bpe"
    assert corpus.examples == tuple(f"{text.text.splitlines()[0]}\nhas" for text in corpus.held_out)  # to continue from


def test_of_much_text_an_even_share_gives_the_vocabulary_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = written(tmp_path, "a.txt", "".join(f"line number {i:03}\n" for i in range(400)))
    whole: Any = open_corpus(path)
    assert sorted(whole.train.for_vocabulary()) == [item.text for item in whole.train]
    assert "vocabulary" not in str(whole.description)
    monkeypatch.setattr(files, "FEW_FOR_VOCABULARY", 100)
    assert "an even sample: at most 8 MB of text" in str(open_corpus(path).description)
    assert "vocabulary" not in str(open_corpus(path, CorpusReading(tokens="character")).description)
    for limit, value, n in (("_MOST_FOR_VOCABULARY", 2_000, 2_000 // 19), ("_MOST_OF_WORDS", 110, (110 - 10) // 3)):
        with monkeypatch.context() as patch:
            patch.setattr(file_items, limit, value)
            numbers = sorted(int(text.split()[-1]) for text in whole.train.for_vocabulary())
        assert len(numbers) == n and max(np.diff([0, *numbers, 400])) < 80


def test_a_folder_is_read_by_name_without_what_is_no_text(tmp_path: Path):
    texts = {"b.txt": "B\n\nof two parts", "a/z.md": "Z", "a.txt": "A", "a/b/c": "C", "ü.py": "Ü"}
    for name, text in texts.items():
        written(tmp_path, name, text + "\n")
    written(tmp_path, ".hidden.txt", "hidden")
    written(tmp_path, ".git/config", "hidden")
    written(tmp_path, "picture.png", b"\x89PNG\r\n\x1a\n\0\0"[4:])
    written(tmp_path, "empty.txt", "")
    written(tmp_path, "pairs.tsv", "a\tb")
    (tmp_path / "a" / "broken").symlink_to(tmp_path / "nowhere")
    corpus = open_corpus(tmp_path)
    [held_out] = corpus.held_out
    in_order = [Text(text) for text in ("C", "Z", "A", "B\n\nof two parts", "Ü")]
    assert list(corpus.train) == [text for text in in_order if text != held_out]
    assert held_out in in_order
    assert str(corpus.description).endswith("1 more is held out. Skipped files without text: 3.")


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: codecs.BOM_UTF8 + raw,
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: b"\n \n" + raw + b"\n\n",
        lambda raw: raw + b"\n\n" + raw,
    ],
    ids=["mark", "line breaks of Windows", "blank lines", "twice"],
)
@pytest.mark.parametrize(("name", "content"), [("a.txt", POEM), ("a.tsv", ROWS)])
def test_the_same_texts_are_held_out_however_the_file_was_written(
    tmp_path: Path, name: str, content: str, change: Callable[[bytes], bytes]
):
    plain, changed = (
        open_corpus(written(tmp_path, f"{folder}/{name}", raw))
        for folder, raw in (("plain", content.encode()), ("changed", change(content.encode())))
    )
    assert set(changed.held_out) == set(plain.held_out)
    assert set(changed.train) == set(plain.train)
    assert changed.fingerprint != plain.fingerprint
    assert open_corpus(written(tmp_path, f"elsewhere/b{name[1:]}", content)).fingerprint == plain.fingerprint
    if plain.is_pairs:
        assert open_corpus(written(tmp_path, "b.md", content)).fingerprint != plain.fingerprint


def test_millions_of_lines_shorter_than_words_are_one_running_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "MOST_SHORT_TEXTS", 1000)
    of_texts = {n: len(open_corpus(written(tmp_path, f"{n}.txt", f"{n % 9}\n8\n" * n)).train) for n in (400, 600)}
    assert of_texts[400] > 300 and of_texts[600] < 10
    assert len(open_corpus(written(tmp_path, "a.txt", "one line of a longer text\nand two\n" * 600)).train) > 500


def test_examples_to_fill_in_have_a_gap(tmp_path: Path):
    lines = ["The cat, surprisingly, slept.", "蓝色的鱼在游泳", "...", "one", "a bird sings"]
    corpora = [open_corpus(written(tmp_path, "a.txt", f"{line}\n{line}!")) for line in lines]
    results = [corpus.fill_in_examples for corpus in corpora]
    with_gaps = [{f"{text}{end}" for end in ("", "!")} for text in ("The cat, ____, slept.", "a bird ____")]
    assert results[0][0] in with_gaps[0] and results[4][0] in with_gaps[1]
    assert results[1:4] == [(), (), ()]
    assert open_corpus(written(tmp_path, "a.tsv", ROWS)).fill_in_examples == ()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "a.txt is empty; use a text file"),
        ("a.txt", b"one", "a.txt contains only one line, but at least 2 different ones are needed"),
        ("a.tsv", b"one\tun\ntwo\t\n", r"\(line 2 has no target\); each line .* or skip it with skip_bad_lines=true"),
        (
            "a.tsv",
            b"one, two\nthree; four\n",
            r"none of the lines is a pair .* commas or semicolons; rename it to \.csv",
        ),
        ("nowhere/a.txt", None, "there is no file or folder .*nowhere/a.txt"),
    ],
)
def test_files_that_are_no_corpus(tmp_path: Path, name: str, content: bytes | None, message: str):
    with pytest.raises(CorpusError, match=message):
        open_corpus(tmp_path / name if content is None else written(tmp_path, name, content))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(CorpusError, match="neither a file nor a folder"):
            open_corpus(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({".hidden": b"x"}, "contains no text; add text files to it"),
        (
            {"a": b"", "b": b"\0"},
            r"\(.*a is empty; .*b is not a text .*\); add",
        ),
        ({str(i): b"" for i in range(5)}, r"2 is empty; and 2 more\); add"),
        ({"a.txt": b"one\ntwo"}, "only one text file, .* use that file itself"),
        ({"a.txt": b"one", "b.txt": b"two\nthr\xe9e"}, "b.txt, line 2: the byte 0xE9"),
    ],
)
def test_folders_that_are_no_corpus(tmp_path: Path, given: dict[str, bytes], message: str):
    for name, content in given.items():
        written(tmp_path, name, content)
    with pytest.raises(CorpusError, match=message):
        open_corpus(tmp_path)


def test_bad_lines_are_skipped_where_that_is_wanted_and_nothing_vanishes_without_a_word(tmp_path: Path):
    path = written(tmp_path, "a.tsv", "one\tun\nno pair\ntwo\tdeux\tnote\nthree\t\nfour\tquatre\t\tx\n")
    corpus = open_corpus(path, CorpusReading(skip_bad_lines=True))
    assert {*corpus.train, *corpus.held_out} == {Pair("one", "un"), Pair("two", "deux"), Pair("four", "quatre")}
    text = str(corpus.description)
    assert "not pairs: 2." in text and "2 of 5 lines have more" in text
    with pytest.raises(CorpusError, match=r"is not a table; skip_bad_lines only applies to JSON"):
        open_corpus(written(tmp_path, "c.txt", "one\ntwo\n"), CorpusReading(skip_bad_lines=True))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path: Path):
    path = written(tmp_path, "inside/deep/a.txt", "one\ntwo")
    for closed, opened in ((path, path), (path.parents[1], path.parents[1]), (path.parent, path.parents[1])):
        closed.chmod(0)
        with pytest.raises(CorpusError, match=r"permissions"):
            open_corpus(opened)
        closed.chmod(0o700)
