"""Items as arrays: each comes out as it went in, alone, in slices and in a row."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.storage.kept_arrays import arrays_in_memory
from transformer_core.corpora.storage.kept_items import DTYPES, KeptItems, write_items
from transformer_core.errors import CorpusError

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


def told(items: Sequence[Any]) -> list[tuple[str, Any, Any]]:
    """Equality does not ask for alignments and antecedents, so everything is spelled out."""
    return [(repr(item), item.alignment, getattr(item, "antecedents", None)) for item in items]


@given(aligned_pairs | referring_pairs | plain_pairs | aligned_texts | plain_texts, st.data())
def test_they_come_out_as_they_went_in(items: list[Any], data: st.DataObject):
    kept = KeptItems(arrays_of(items))
    assert told(kept) == told(items)
    assert [told([kept[i]]) for i in range(-len(items), len(items))] == [told([item]) for item in items * 2]
    cut = slice(
        data.draw(st.none() | st.integers(-10, 10)), data.draw(st.none() | st.integers(-10, 10)), data.draw(STEPS)
    )
    assert told(kept[cut]) == told(items[cut])
    assert told(kept[cut][1:]) == told(items[cut][1:])
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
