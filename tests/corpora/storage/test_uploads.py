"""Uploads can be trained on, or are refused and leave no files."""

import csv
import io
import os
import subprocess
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from tests.german import in_german
from transformer_core.corpora import CorpusReading, Pair, load_corpus
from transformer_core.corpora.storage import uploads as module
from transformer_core.corpora.storage.pair_lines import BadLinesError
from transformer_core.corpora.storage.uploads import SKIPS_BAD_LINES, take_in
from transformer_core.errors import CorpusError

ROOT = Path(__file__).resolve().parents[3]
LINES = "".join(f"Line {i} of some text.\n" for i in range(30))
PARAGRAPH = "The sun rose over the hills, and nobody in the village was awake yet to see it. " * 4
PAIRS = "".join(f"the number {i}\tle nombre {i}\n" for i in range(30))


def named(content: str, file_name: str) -> str:
    """The folder and the file of what was taken in."""
    return f"{blake2b((file_name + content).encode(), digest_size=6).hexdigest()}/{file_name}"


@pytest.mark.parametrize(
    ("name", "content", "file_name"),
    [("My notes (2).md", LINES, "My notes (2).md"), ("pasted", PARAGRAPH, "pasted.txt"), ("P.TSV", PAIRS, "P.tsv")],
)
def test_text_is_kept_as_it_is(tmp_path: Path, name: str, content: str, file_name: str):
    taken = take_in([(content.encode(), name)], tmp_path / "texts", skip_bad_lines=True)
    assert taken.path == tmp_path / "texts" / named(content, file_name)
    assert taken.path.read_text(encoding="utf-8") == content and not taken.remark
    assert [path.name for path in taken.path.parent.iterdir()] == [file_name]  # nothing says that lines are skipped
    assert [*(tmp_path / "texts").iterdir()] == [taken.path.parent]
    assert load_corpus(str(taken.path)).train


@pytest.mark.parametrize(
    ("name", "file_name"),
    [
        *(("../../etc/passwd", "passwd.txt"), ("..\\..\\boot.ini", "boot.ini"), ("C:\\texts\\tale.txt", "tale.txt")),
        *(("..", "text.txt"), ("", "the text.txt"), ("a folder/", "the text.txt"), (" . ", "text.txt")),
        *((".hidden.txt", "hidden.txt"), ("con", "text-con.txt"), ("NUL.txt", "text-NUL.txt")),
        *(("com1.tale.txt", "text-com1.tale.txt"), ("a\0b\nc.txt", "a b c.txt"), ("-rf.txt", "rf.txt")),
        *(("a:b*c?<d>|\"e'.txt", "a-b-c-d-e.txt"), ("日本語の話.txt", "日本語の話.txt"), ("e\u0301.txt", "é.txt")),
        *(("🎉.txt", "text.txt"), ("\ud800x.txt", "x.txt"), ("v1.2 of the tale", "v1.2 of the tale.txt")),
    ],
)
def test_a_name_never_leads_elsewhere(tmp_path: Path, name: str, file_name: str):
    path = take_in([(LINES.encode(), name)], tmp_path / "texts").path
    assert path.parent.parent == tmp_path / "texts"
    assert path.name == file_name


def test_the_same_content_is_there_once(tmp_path: Path):
    first = take_in([(LINES.encode(), "a.txt")], tmp_path).path
    written = first.stat().st_mtime_ns
    assert take_in([(LINES.encode(), "a.txt")], tmp_path).path == first
    assert first.stat().st_mtime_ns == written
    first.write_text("cut off")
    assert take_in([(LINES.encode(), "a.txt")], tmp_path).path.read_text() == LINES
    other = take_in([(LINES.encode() + b"more\n", "a.txt")], tmp_path).path
    assert other != first and other.name == first.name


def test_other_encodings_become_utf_8_and_that_is_said(tmp_path: Path):
    text = LINES.replace("some", "être")
    for encoding, breaks, remark in (("utf-16", "\n", "was UTF-16 and is stored as UTF-8"), ("utf-8-sig", "\r\n", "")):
        taken = take_in([(text.replace("\n", breaks).encode(encoding), "a.txt")], tmp_path)
        assert taken.path.read_text(encoding="utf-8") == text
        assert remark in str(taken.remark) and bool(remark) == bool(taken.remark)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_columns_of_a_table_become_pairs(tmp_path: Path, delimiter: str):
    rows = [("first", "second"), ("one, two", 'he said "hi"'), ("three;\n\tfour", "x"), ("é", "ü")]
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator="\n\n").writerows(rows)
    corpus = load_corpus(str(take_in([(written.getvalue().encode("utf-16"), "table.csv")], tmp_path).path))
    assert {*corpus.train, *corpus.held_out} == {Pair(*row) for row in rows}


def test_several_files_are_a_corpus_together(tmp_path: Path):
    sides = [(f"{word} {{i}}\n", f"train.{code}") for word, code in (("chat", "fr"), ("cat", "en"))]
    raws = [("".join(line.format(i=i) for i in range(30)).encode(), name) for line, name in sides]
    pairs = load_corpus(str(take_in(raws, tmp_path).path))
    assert {*pairs.train, *pairs.held_out} == {Pair(f"cat {i}", f"chat {i}") for i in range(30)}
    given = [
        (LINES.encode(), "notes/a.txt"),
        (LINES.upper().encode(), "notes/../b/a.txt"),
        (b"\x7fELF\1\2\0\0", "notes/x.bin"),
    ]
    taken = take_in([*given, (b"more", "notes/a.txt")], tmp_path)
    assert taken.path.name == "notes" and "not text were left out: 1" in str(taken.remark)
    assert taken.path.parent.parent == tmp_path
    texts = load_corpus(str(taken.path))
    assert {item.text for item in (*texts.train, *texts.held_out)} == {LINES.strip(), LINES.upper().strip(), "more"}


REFUSED: list[tuple[str, bytes, dict[str, Any], str]] = [  # encodings, lines of pairs and files have their own tests
    ("", b"", {}, "the text is empty"),
    ("a.txt", b"x", {}, "a.txt contains only one line, .* or at least 200 bytes"),
    ("a.bin", b"\x7fELF\1\2\0\0", {}, "a.bin is not a text file: line 1 contains a zero byte"),
    ("a.tsv", b"a\tb\nc\n", {}, r"a.tsv: 1 of 2 lines is not a pair \(line 2 has only one column\); .* correct that"),
    ("a.tsv", b"a\nb\n", {}, r"a.tsv: none of the lines is a pair \(line 1 has only one column; line"),
    ("a.json", b"[" * 100_000, {}, "a.json, line 1: the JSON is nested too deeply"),
    ("a.csv", b'a,b\n"c\nd",e\nf,\n', {}, r"a.csv: 1 of 3 lines .*\(line 4 has no target\).* a comma or semicolon"),
    ("a.csv", b'a,b\nc,d\n"e,f\ng,h\n', {}, "a.csv: the row that starts at line 3 cannot be read .* quotation mark"),
]


@pytest.mark.parametrize(("name", "raw", "options", "message"), REFUSED)
def test_what_is_no_corpus_is_refused_in_a_sentence_and_leaves_nothing(
    tmp_path: Path, name: str, raw: bytes, options: dict[str, Any], message: str
):
    with pytest.raises(CorpusError, match=message) as refused:
        take_in([(raw, name)], tmp_path / "texts", **options)
    assert "\n" not in str(refused.value) and str(tmp_path) not in str(refused.value)
    assert not list((tmp_path / "texts").iterdir())


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_bad_lines_are_counted_and_skipped_once_a_person_agrees(tmp_path: Path, name: str):
    between = "\t" if name == "a.tsv" else ","
    rows = [f"{i}{between}{i * i}" if i % 3 else f"{i}" for i in range(1, 31)]
    raw = "\r\n".join(rows).encode()
    with pytest.raises(BadLinesError) as refused:
        take_in([(raw, name)], tmp_path)
    assert (refused.value.lines.n_lines, refused.value.lines.n_bad) == (30, 10)
    assert not list(tmp_path.iterdir())
    german = in_german(refused.value)  # also the message inside the message
    assert "10 von 30 Zeilen" in german and "Zeile 3 hat nur eine Spalte" in german and "column" not in german
    taken = take_in([(raw, name)], tmp_path, skip_bad_lines=True)
    assert (taken.path.parent / SKIPS_BAD_LINES).exists()
    with pytest.raises(BadLinesError):
        load_corpus(str(taken.path))
    corpus = load_corpus(str(taken.path), reading=CorpusReading(skip_bad_lines=True))
    assert {*corpus.train, *corpus.held_out} == {Pair(f"{i}", f"{i * i}") for i in range(1, 31) if i % 3}


def test_there_is_an_end_to_what_is_taken_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_BYTES", 2**20)
    monkeypatch.setattr(module, "_BLOCK", 2**10)
    with pytest.raises(CorpusError, match=r"a.txt is larger than .* GiB; leave it where it is, and give its path"):
        take_in([(b"some\nlines\n" * 100_000, "a.txt")], tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(CorpusError, match=r"a.txt cannot be saved in .*file.*; free some disk space"):
        take_in([(LINES.encode(), "a.txt")], tmp_path / "file" / "texts")


def test_what_a_process_left_behind_is_deleted_once_it_is_old(tmp_path: Path):
    old, young, foreign = (tmp_path / name for name in (".taking-in-old", ".taking-in-new", "kept"))
    for folder in (old, young, foreign):
        folder.mkdir()
        (folder / "given").write_text("half")
    for folder in (old, foreign):
        os.utime(folder, (time.time() - 2 * 24 * 3600,) * 2)
    take_in([(LINES.encode(), "a.txt")], tmp_path)
    assert (old.exists(), young.exists(), foreign.exists()) == (False, True, True)


def test_a_file_is_read_from_its_beginning_whenever_it_is_uploaded(tmp_path: Path):
    file = io.BytesIO(b"a\tb\nc\nd\te\nf\tg\n")
    with pytest.raises(BadLinesError):
        take_in([(file, "a.tsv")], tmp_path)
    taken = take_in([(file, "a.tsv")], tmp_path, skip_bad_lines=True)
    assert taken.path.read_bytes() == file.getvalue()


MEASURE = """
import re, sys
from pathlib import Path
from headlight.corpora.analysis import compute_stats
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.corpora.storage.uploads import take_in
from transformer_core.text.tokenizer import train_tokenizer

def peak() -> int:  # getrusage would begin with the peak of the process that started this one
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

given, folder = map(Path, sys.argv[1:])
take_in([(b"one\\ntwo\\n" * 100_000, "small.txt")], folder)
tokenizer = train_tokenizer(["the cat sat on the mat"], kind="word")
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far, of the imports
before = peak()
with open(given, "rb") as file:
    path = take_in([(file, given.name)], folder).path
print(path.stat().st_size, peak() - before)
corpus = open_corpus(path)
batches = batches_for(corpus.train, tokenizer, "decoder_only", max_seq_len=64, batch_size=32, seed=0)
for _ in range(100):
    next(batches)
compute_stats(corpus, tokenizer, "decoder_only")
print(peak() - before)
"""


@pytest.mark.faults
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports peak memory")
def test_a_large_file_takes_little_memory(tmp_path: Path):
    """It is taken in, in another encoding, counted, and trained on."""
    words = " ".join(["cat" * 500] * 40)  # long words are encoded fast
    (tmp_path / "large.txt").write_text("\n\n".join(f"{i} {words}" for i in range(500)), encoding="utf-16")
    environment = os.environ | {"HEADLIGHT_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "large.txt"), str(tmp_path / "texts")]
    actual = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    size, taking_in, using = map(int, actual.stdout.split())
    assert size > 30e6
    assert taking_in < 10e6 and using < 20e6
