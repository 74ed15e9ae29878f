"""What is counted in a file of pairs, which bad lines are shown, and what is said of them."""

from pathlib import Path

from transformer_core.corpora.storage.pair_lines import (
    N_SHOWN,
    PairLines,
    pair_lines,
)
from transformer_core.corpora.storage.text_files import TextFiles, check_text_file

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


def test_the_first_bad_lines_are_shown_and_cut_where_they_are_longer_than_60_characters(tmp_path: Path):
    long = [character * n for character in "xä蓝" for n in (60, 61)]
    lines = counted(tmp_path, *long)
    shown = [line if len(line) == 60 else f"{line[:60]} ..." for line in long]
    assert (lines.n_bad, [bad.text for bad in lines.first_bad]) == (6, shown[:N_SHOWN])
