"""Tables from other programs are read correctly; unreadable rows are reported with their line."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headlight.corpora.corpus_stats import made_from
from transformer_core.corpora import CorpusReading, Pair, Text, load_corpus
from transformer_core.corpora.storage import rows, tables
from transformer_core.corpora.storage.pair_lines import N_SHOWN, BadLinesError
from transformer_core.errors import CorpusError

N = 30
ROOT = Path(__file__).resolve().parents[3]


def written(folder: Path, name: str, rows: Any) -> str:
    """Write rows as the name says, with Python's and Arrow's own writers."""
    path = folder / name
    if path.suffix == ".parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist(rows), path)
    elif path.suffix in (".csv", ".tsv"):
        with open(path, "w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, delimiter=";" if path.suffix == ".csv" else "\t").writerows(rows)
    else:
        texts = [json.dumps(row) for row in rows]
        path.write_text(json.dumps(rows, indent=1) if path.suffix == ".json" else "\r\n".join(texts), "utf-8-sig")
    return str(path)


def items(name: str, **reading: Any) -> set[Pair | Text]:
    corpus = load_corpus(name, reading=CorpusReading(**reading))
    return {*corpus.train, *corpus.held_out}


CHAT = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yes {i}"}]
TURNS = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}, {"role": "assistant", "content": "yes {i}"}]
PLAIN, SWAPPED = Pair("one {i}", "two\n\n{i} "), Pair("two\n\n{i} ", "one {i}")
KINDS: list[tuple[str, Any, dict[str, str], Pair | Text]] = [  # a row, what is requested, and what it is
    ("a.json", {"instruction": "one", "input": "{i}", "output": "two"}, {}, Pair("one\n{i}", "two")),
    ("a.jsonl", {"prompt": "one {i}", "completion": "two\n\n{i} "}, {}, PLAIN),
    (
        "a.parquet",
        {"id": 1, "translation": {"fr": "two\n\n{i} ", "en": "one {i}"}},
        {},
        SWAPPED,
    ),
    ("a.txt", {"score": 1, "text": " a\n{i}"}, {}, Text(" a\n{i}")),
    ("a.json", "only {i}", {}, Text("only {i}")),
    ("a.jsonl", {"id": 1, "conversations": CHAT}, {}, Text("user: hi\nassistant: yes {i}")),
    ("a.parquet", {"messages": [TURNS[1], TURNS[1]]}, {}, Text("assistant: yes {i}\nassistant: yes {i}")),
    ("a.jsonl", {"messages": TURNS}, {}, Text("user: hi\nassistant: yes {i}")),
    ("a.jsonl", {"a": "x {i}", "b": "y"}, {"text_column": "b+a"}, Text("y\nx {i}")),
    ("a.parquet", {"id": 1, "text": "{i}"}, {}, Text("{i}")),
    ("a.parquet", {"n": "1", "a": "x {i}", "b": "y"}, {"source_column": "a", "target_column": "b"}, Pair("x {i}", "y")),
]


def with_number(value: Any, i: int) -> Any:
    return json.loads(json.dumps(value).replace("{i}", str(i)))


@pytest.mark.parametrize(("name", "row", "reading", "expected"), KINDS)
def test_rows_of_json_and_parquet(tmp_path: Path, name: str, row: Any, reading: dict[str, str], expected: Pair | Text):
    path = written(tmp_path, name, [with_number(row, i) for i in range(N)])
    assert items(path, **reading) == {type(expected)(*with_number(expected.texts, i)) for i in range(N)}


def test_texts_alone_have_no_column_to_be_told_of(tmp_path: Path):
    assert "column" not in str(load_corpus(written(tmp_path, "a.jsonl", ["one", "two"])).description)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_headers_are_found_and_columns_chosen(tmp_path: Path, name: str):
    rows = [(f'say "{i}"' if name == "a.csv" else f"say {i}", f"  dis, {i} ", "x") for i in range(N)]
    pairs = {Pair(*row[:2]) for row in rows}
    assert items(written(tmp_path, name, rows)) == pairs
    headed = written(tmp_path, name, [("English sentences", "French", "Author name"), *rows])
    assert items(headed, source_column="English sentences", target_column="French") == pairs
    assert items(headed, text_column="French") == {Text(row[1]) for row in rows}
    assert items(headed, header="no") == pairs | {Pair("English sentences", "French")}
    assert any('"say' in item.texts[0] or "English" in item.texts[0] for item in items(headed, division="lines"))
    with pytest.raises(CorpusError, match="has no column nix; it has English sentences, French, Author name"):
        items(headed, text_column="nix")
    unusual = written(tmp_path, name, [("titel", " inhalt ", "autor"), *rows])
    assert items(unusual, text_column="inhalt") == {Text(row[1]) for row in rows}
    assert items(unusual, source_column="titel", target_column="autor") == {Pair(row[0], "x") for row in rows}
    assert Pair("titel", " inhalt ") in items(unusual, source_column="1", target_column="2")
    request = written(tmp_path, name, [("label", "name", "title"), *rows])
    with pytest.raises(CorpusError, match="has the columns label, name, title; choose text_column, or source_column"):
        items(request)


def test_parallel_files_are_pairs_line_by_line(tmp_path: Path):
    paths = [tmp_path / f"europarl-v7.fr-en.{side}" for side in ("en", "fr")]
    for path, word in zip(paths, ("cat", " chat"), strict=True):
        path.write_text("".join(f"{word} {i} \r\n" for i in range(N)), encoding="utf-8")
    expected = {Pair(f"cat {i} ", f" chat {i} ") for i in range(N)}
    assert items("|".join(map(str, paths))) == items(str(tmp_path)) == expected
    reading: Any = (CorpusReading(), "encoder_decoder")
    assert made_from("|".join(map(str, paths)), *reading) != made_from(str(paths[0]), *reading)
    assert items(str(tmp_path), source_column="fr", target_column="en") == {Pair(p.target, p.source) for p in expected}
    assert "fr-en.en; target: europarl-v7.fr-en.fr" in str(load_corpus(str(tmp_path)).description)
    with open(paths[0], "a", encoding="utf-8") as file:
        file.write("one more\n")
    with pytest.raises(CorpusError, match=rf"fr-en.en has more lines than .*fr-en.fr, which has {N}"):
        items(str(tmp_path))


def test_bad_lines_are_counted_and_shown(tmp_path: Path):
    (tmp_path / "a.tsv").write_text("a\tb\n\na\tb\tc\nalone\n \t \n\tb\na\t\nd\tb\t\t\n" + "x" * 61, encoding="utf-8")
    with pytest.raises(BadLinesError) as refused:
        load_corpus(str(tmp_path / "a.tsv"))
    lines = refused.value.lines
    assert (lines.n_lines, lines.n_bad, lines.n_wider) == (7, 4, 1)
    results = [(bad.line, bad.problem, bad.text) for bad in lines.first_bad]
    assert results[:2] == [(4, "one_column", "alone"), (6, "no_source", "\tb")]
    assert results[2:] == [(7, "no_target", "a\t"), (9, "one_column", f"{'x' * 60} ...")] and N_SHOWN > 3
    deep = "[" * 100_000 + "]" * 100_000
    (tmp_path / "b.jsonl").write_text(f'{{"text": "a"}}\n{{"text": {deep}}}\n{{"text": \n{{"text": "b"}}\n[1', "utf-8")
    with pytest.raises(BadLinesError, match=r"3 of 5 .*line 2 is nested too deeply; line 3 is not valid JSON; line 5"):
        load_corpus(str(tmp_path / "b.jsonl"))
    assert items(str(tmp_path / "b.jsonl"), skip_bad_lines=True) == {Text("a"), Text("b")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"text": "a"},\n{"text": "b"}\n{"text": "c"}]', "line 3: this is not valid JSON"),
        ('[{"text": "a"},\n{"te', "line 2: this is not valid JSON"),
        ('{"a": 1,\n "b": {"c": [1]}}', "is one JSON object, not a list of texts"),
        ("[" * 100_000, "line 1: the JSON is nested too deeply"),
        ('[{"a":' * 100_000, "line 1: the JSON is nested too deeply"),
    ],
)
def test_json_that_cannot_be_read(tmp_path: Path, content: str, message: str):
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        load_corpus(str(tmp_path / "a.json"))


LFS, PAGE = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", b"<!DOCTYPE html>\n<html>\nhi\n"


@pytest.mark.parametrize("ending", ["parquet", "json", "jsonl", "csv", "tsv", "txt"])
def test_what_came_in_place_of_a_table_is_named(tmp_path: Path, ending: str):
    path = tmp_path / f"a.{ending}"
    for content, message in ((LFS, "Git LFS"), (PAGE, "web page"), (b"\x1f\x8b\x08\0", "gzip archive")):
        path.write_bytes(content)
        if content in (LFS, PAGE) and ending == "txt":
            assert len(items(str(path))) == 3
        else:
            with pytest.raises(CorpusError, match=message):
                items(str(path))


@pytest.mark.parametrize("content", ["[Verse 1]\nHello\n", "{ not json }\n[1] a note\n", '"Hi", she said.\nYes.\n'])
def test_text_that_only_looks_like_json_is_text(tmp_path: Path, content: str):
    (tmp_path / "a.txt").write_text(content, encoding="utf-8")
    assert items(str(tmp_path / "a.txt")) == {Text(line) for line in content.splitlines()}


def test_a_row_of_parquet_that_unpacks_to_too_much_is_refused_and_other_columns_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rows, "_MOST_UNPACKED", (2**20, 16))
    path = written(tmp_path, "a.parquet", [{"text": "a" * 2_000_000, "b": b"c"}, {"text": "b", "b": b"d"}])
    with pytest.raises(CorpusError, match="would unpack to 2 MB, many times its size"):
        load_corpus(path)
    assert items(path, text_column="b") == {Text("c"), Text("d")}  # bytes that are text


def test_a_table_of_a_thousand_columns(tmp_path: Path):
    path = written(tmp_path, "a.parquet", [{f"c{i}": f"{row} {i}" for i in range(1000)} for row in range(N)])
    with pytest.raises(CorpusError, match=r"has the columns c0, c1.* c19; and 980 more; choose text_column"):
        load_corpus(path)
    for name, content in (("b.csv", "a" + "," * 10_000), ("b.jsonl", json.dumps({f"{i}": "" for i in range(10_001)}))):
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(CorpusError, match="has more than 10,000 columns; export only those"):
            load_corpus(str(tmp_path / name))
    assert items(path, text_column="c7+c999") == {Text(f"{row} 7\n{row} 999") for row in range(N)}


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl"])
def test_many_rows_without_much_text_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(tables, "MOST_SHORT_TEXTS", 2_000)
    for text in ("short", "long enough text"):
        each: Any = [[f"{i}", text] if name == "a.csv" else f"{i} {text}" for i in range(4_000)]
        path = written(tmp_path, name, [{"text": row} for row in each] if name == "a.jsonl" else each)
        if text != "short":
            assert len(items(path)) == 4_000
            continue
        with pytest.raises(CorpusError, match="more than 2,000 rows with less than 16 bytes of text on average"):
            load_corpus(path)


def test_without_pyarrow_parquet_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CorpusError, match=r"reading those needs pyarrow; install it .*, or export the texts as JSON"):
        load_corpus(str(tmp_path / "a.parquet"))


def test_a_json_object_on_one_line_is_no_line_of_json_lines(tmp_path: Path):
    long = [{"text": f"{i}", "messages": "x" * 3_000} for i in range(N)]
    for name in ("a.json", "a.txt"):
        (tmp_path / name).write_text(json.dumps({"version": 1, "data": long}), encoding="utf-8")
        assert items(str(tmp_path / name), text_column="text") == {Text(f"{i}") for i in range(N)}
    (tmp_path / "b.json").write_text("\n".join(json.dumps(row | {"x": "x" * 70_000}) for row in long), encoding="utf-8")
    assert items(str(tmp_path / "b.json"), text_column="text") == {Text(f"{i}") for i in range(N)}


MEASURE = """
import re, sys
from pathlib import Path
from transformer_core.corpora.storage.uploads import take_in
def peak() -> int:
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far, of the imports
before = peak()
for given in sys.argv[2:]:
    with open(given, "rb") as file:
        take_in([(file, "given.txt")], Path(sys.argv[1]))
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports peak memory")
def test_short_lines_cost_no_more_memory_than_long_ones(tmp_path: Path):
    given = [tmp_path / "lines.txt", tmp_path / "stretches.txt"]
    for path, between in zip(given, ("\n", "\n\n"), strict=True):
        path.write_text(f"8{between.join('7' * 1_500_000)}", encoding="utf-8")
    environment = os.environ | {"HEADLIGHT_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "texts"), *map(str, given)]
    actual = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    assert int(re.findall(r"\d+", actual.stdout)[0]) < 100e6
