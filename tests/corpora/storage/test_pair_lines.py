"""What is counted in a file of pairs, which bad lines are shown, and what is said of them."""

from pathlib import Path

import pytest

from transformer_core.corpora.storage.pair_lines import (
    N_SHOWN,
    BadLinesError,
    PairLines,
    pair_in_words,
    pair_lines,
    refuse_bad_lines,
)
from transformer_core.corpora.storage.text_files import TextFiles, check_text_file
from transformer_core.errors import CorpusError, Message

GOOD, WIDER, BLANK = "one cat\tun chat", "a\tb\tc", " \t "


def counted(folder: Path, *lines: str) -> PairLines:
    path = folder / "lines.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return pair_lines(TextFiles(path, [check_text_file(path)]))


def test_lines_are_counted_by_what_they_hold(tmp_path: Path):
    """Tabs at the end of a line begin no column, and blank lines count for nothing, but have a number."""
    lines = counted(tmp_path, GOOD, "", WIDER, "alone", BLANK, "\tb", "a\t", "a\tb\t\t", GOOD)
    assert (lines.n_lines, lines.n_bad, lines.n_wider) == (7, 3, 1)
    assert [(bad.line, bad.problem, bad.text) for bad in lines.first_bad] == [
        (4, "one_column", "alone"),
        (6, "no_source", "\tb"),
        (7, "no_target", "a\t"),
    ]
    assert [str(bad.in_words()) for bad in lines.first_bad] == [
        "line 4 has only one column",
        "line 6 has no source",
        "line 7 has no target",
    ]


@pytest.mark.parametrize("n", [N_SHOWN - 1, N_SHOWN, N_SHOWN + 1])
def test_the_first_bad_lines_are_shown(tmp_path: Path, n: int):
    lines = counted(tmp_path, GOOD, *(f"bad {i}" for i in range(n)))
    assert lines.n_bad == n
    assert [bad.text for bad in lines.first_bad] == [f"bad {i}" for i in range(min(n, N_SHOWN))]


def test_a_bad_line_is_cut_where_it_is_longer_than_60_characters(tmp_path: Path):
    long = [character * n for character in "xä蓝" for n in (60, 61)]
    shown = [bad.text for bad in counted(tmp_path, *long[:4]).first_bad]
    shown += [bad.text for bad in counted(tmp_path, *long[4:]).first_bad]
    assert shown == [line if len(line) == 60 else f"{line[:60]} ..." for line in long]


def test_some_bad_lines_are_refused_unless_they_may_be_skipped(tmp_path: Path):
    lines = counted(tmp_path, GOOD, "alone", GOOD, "a\t")
    with pytest.raises(BadLinesError, match=r"^a\.tsv: 2 of 4 lines are not pairs \(line 2 has only one column"):
        refuse_bad_lines(lines, "a.tsv", skip=False)
    refuse_bad_lines(lines, "a.tsv", skip=True)
    refuse_bad_lines(counted(tmp_path, GOOD, WIDER), "a.tsv", skip=False)


@pytest.mark.parametrize("skip", [True, False])
def test_a_file_without_a_pair_is_refused_in_any_case(tmp_path: Path, skip: bool):
    with pytest.raises(
        CorpusError, match=r"none of the lines is a pair \(.*\); each line must contain a source, a tab"
    ):
        refuse_bad_lines(counted(tmp_path, "one, two", "three"), "a.tsv", skip=skip)
    with pytest.raises(CorpusError, match=r"separated by commas or semicolons; rename it to \.csv"):
        refuse_bad_lines(counted(tmp_path, "one, two", "three; four"), "a.tsv", skip=skip)


def test_a_pair_is_called_as_the_file_has_it():
    assert str(pair_in_words("a.tsv")) == "each line must contain a source, a tab and a target"
    assert str(pair_in_words("A.CSV")) == "each line must contain a source, a comma or semicolon, and a target"


def test_a_remark_tells_what_a_reader_leaves_out(tmp_path: Path):
    corpus = Message("Some pairs.")
    assert str(counted(tmp_path, GOOD).remark(corpus)) == "Some pairs."
    assert str(counted(tmp_path, GOOD, "alone", WIDER).remark(corpus)) == (
        "Some pairs. Skipped lines that are not pairs: 1. Only the first two columns are used; 1 of 3 lines have more."
    )
