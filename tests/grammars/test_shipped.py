"""The shipped files are what the grammars draw: the first items of each in daily tests, all of them in full ones."""

import lzma
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from grammars import __main__ as command
from grammars import en_fr, stories
from grammars.en_fr import english
from grammars.en_fr.examples import EXAMPLES
from transformer_core.corpora import CORPORA
from transformer_core.corpora.shipped.en_fr.minimal_pairs import minimal_pairs
from transformer_core.corpora.shipped.items import path_of


@pytest.mark.parametrize(("name", "draw"), [("en-fr", en_fr.draw), ("stories", stories.draw)])
def test_the_first_items_are_as_drawn(name: str, draw: Callable[[int, int, int], tuple[Sequence[Any], Sequence[Any]]]):
    for part, drawn in zip(("train", "held_out"), draw(0, 1_000, 50), strict=True):
        assert first_lines(name, part, len(drawn)) == command.lines(map(command.values_of, drawn))


def test_the_first_minimal_pairs_are_as_drawn():
    singular = first_lines("en-fr", "minimal_pairs", 30)
    assert singular == command.lines(islice(command.minimal_pair_values(30), 30))
    assert minimal_pairs(30)[10:] == minimal_pairs(20, skip=10)
    assert [len(minimal_pairs(10_000, plural=plural)) for plural in (False, True)] == [1310, 149]


def test_the_examples_are_those_of_the_grammar():
    assert CORPORA["en-fr"].about.examples == tuple(english.write(english.render_sentence(each)) for each in EXAMPLES)


def test_a_file_that_differs_is_named_or_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "items.jsonl.xz"
    monkeypatch.setattr(command, "contents", lambda: [(path, b"{}\n")])
    assert command.main(["--check"]) == 1 and not path.exists()
    assert command.main([]) == 0 and lzma.decompress(path.read_bytes()) == b"{}\n"
    assert command.main(["--check"]) == 0


@pytest.mark.full
def test_all_files_are_as_drawn(capsys: pytest.CaptureFixture[str]):
    assert command.main(["--check"]) == 0
    assert capsys.readouterr().out.count("as drawn") == 5


def first_lines(name: str, part: str, n: int) -> bytes:
    return b"".join(islice(lzma.open(path_of(name, part)), n))
