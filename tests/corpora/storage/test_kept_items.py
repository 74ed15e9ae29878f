"""Cached corpora: each item is the original one, alone, in slices and in a row; corpora are drawn once."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.corpora.conftest import TASKS
from transformer_core.corpora import CORPORA, load_corpus
from transformer_core.corpora.corpus import Corpus, Pair, Text
from transformer_core.corpora.generated import GeneratedCorpus
from transformer_core.corpora.storage import kept_items
from transformer_core.corpora.storage.kept_arrays import arrays_in_memory
from transformer_core.corpora.storage.kept_items import DTYPES, KeptItems, kept_corpus, write_items
from transformer_core.errors import CorpusError

ROOT = Path(__file__).resolve().parents[3]
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
alignments = st.lists(st.lists(st.integers(0, 99), max_size=3).map(tuple), max_size=4).map(tuple)
aligned_pairs = st.lists(st.builds(Pair, words, words, alignments), max_size=9)
antecedents = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=3).map(tuple)
referring_pairs = st.lists(st.builds(Pair, words, words, alignments, antecedents), max_size=9)
plain_pairs = st.lists(st.builds(Pair, words, words), min_size=1, max_size=9)
aligned_texts = st.lists(st.builds(Text, words, alignments), max_size=9)
plain_texts = st.lists(st.builds(Text, words), max_size=9)


def arrays_of(items: Sequence[Any]) -> dict[str, NDArray[Any]]:
    return arrays_in_memory(DTYPES, lambda sinks: write_items(items, sinks))


def spelled_out(items: Sequence[Any]) -> list[tuple[str, Any, Any]]:
    """Equality does not ask for alignments and antecedents, so everything is spelled out."""
    return [(repr(item), item.alignment, getattr(item, "antecedents", None)) for item in items]


@given(aligned_pairs | referring_pairs | plain_pairs | aligned_texts | plain_texts, st.data())
def test_they_come_out_as_they_went_in(items: list[Any], data: st.DataObject):
    kept = KeptItems(arrays_of(items))
    assert spelled_out(kept) == spelled_out(items)
    assert [spelled_out([kept[i]]) for i in range(-len(items), len(items))] == [
        spelled_out([item]) for item in items * 2
    ]
    cut = slice(
        data.draw(st.none() | st.integers(-10, 10)), data.draw(st.none() | st.integers(-10, 10)), data.draw(STEPS)
    )
    assert spelled_out(kept[cut]) == spelled_out(items[cut])
    assert spelled_out(kept[cut][1:]) == spelled_out(items[cut][1:])
    assert len(kept[cut]) == len(items[cut])


STEPS = st.sampled_from([None, 1, 2, 3, -1, -2])


def test_alignments_are_forgotten_where_tokens_are_not_their_units():
    items = [Pair("a", "b", ((0,),)), Pair("c", "d", ((0,),))]
    kept = KeptItems(arrays_of(items), fingerprint="f")
    plain = kept.without_alignments()
    assert list(plain) == items and [item.alignment for item in plain] == [None, None]
    assert plain[1:][0].alignment is None
    assert plain.fingerprint == "f" and kept[0].alignment == ((0,),)
    assert kept[:1].fingerprint == kept[:].fingerprint == ""  # it was that of the whole


def test_all_or_none_have_antecedents_or_an_alignment():
    with pytest.raises(CorpusError, match="1 of 2 pairs have antecedents; either all or none must have them"):
        arrays_of([Pair("a it", "b", None, ((1, 0),)), Pair("c", "d")])
    with pytest.raises(CorpusError, match="1 of 2 items have an alignment; either all or none must have one"):
        arrays_of([Text("a", ((),)), Text("b")])


def assert_same(kept: Corpus, drawn: Corpus) -> None:
    for one, other in ((kept.train, drawn.train), (kept.held_out, drawn.held_out)):
        assert spelled_out(one) == spelled_out(other)
    assert kept.fingerprint == drawn.fingerprint
    assert kept.is_pairs == drawn.is_pairs
    for each in fields(Corpus):
        if each.name not in ("train", "held_out", "known_fingerprint"):
            assert getattr(kept, each.name) == getattr(drawn, each.name)


def counted(generated: GeneratedCorpus) -> tuple[GeneratedCorpus, Mock]:
    """A generated corpus, and what counts how often it is drawn."""
    draw = Mock(side_effect=generated.draw)
    return replace(generated, draw=draw), draw


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.usefixtures("cache")
def test_a_corpus_from_the_cache_is_the_drawn_one_and_is_drawn_once(name: str, few: Callable[[str], GeneratedCorpus]):
    generated, draw = counted(few(name))
    drawn = generated(seed=3)
    for _ in range(2):
        assert_same(kept_corpus(generated, seed=3), drawn)
    assert draw.call_count == 2


@pytest.mark.usefixtures("cache")
def test_another_seed_other_code_or_another_name_is_drawn_anew(
    few: Callable[[str], GeneratedCorpus], monkeypatch: pytest.MonkeyPatch
):
    generated, draw = counted(few("copy"))
    corpus = kept_corpus(generated, seed=0)
    assert corpus.fingerprint != kept_corpus(generated, seed=1).fingerprint
    assert corpus.train.fingerprint != corpus.held_out.fingerprint  # type: ignore[attr-defined]
    kept_corpus(replace(generated, about=replace(generated.about, name="others")), seed=0)
    assert draw.call_count == 3
    monkeypatch.setattr(kept_items, "CODE_OF_CORPORA", "0" * 64)
    for _ in range(2):
        kept_corpus(generated, seed=0)
    assert draw.call_count == 4


WRITE_AND_DIE = """
import os, signal
from transformer_core.corpora import load_corpus
from transformer_core.corpora.storage import kept_items
write = kept_items.write_items
def write_and_die(items, sinks):
    write(items, sinks)
    os.kill(os.getpid(), signal.SIGKILL)
kept_items.write_items = write_and_die
load_corpus("copy")
"""


@pytest.mark.faults
def test_a_process_that_is_killed_on_the_way_leaves_nothing_that_is_taken_for_whole(cache: Path):
    environment = os.environ | {"HEADLIGHT_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    killed = subprocess.run([sys.executable, "-c", WRITE_AND_DIE], env=environment, timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name[0] for path in cache.iterdir()] == ["."]
    assert load_corpus("copy").fingerprint == CORPORA["copy"]().fingerprint
