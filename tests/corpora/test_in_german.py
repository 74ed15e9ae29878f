"""Messages of a corpus in German: one with a message inside another, and one for a corpus that is read."""

from pathlib import Path

import pytest

from tests.german import in_german
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.corpora.storage.uploads import take_in
from transformer_core.errors import CorpusError
from transformer_core.language import speaking


def test_a_refusal_is_german_in_all_its_parts(tmp_path: Path):
    with pytest.raises(CorpusError) as refused:
        take_in(b"one,eins\ntwo\n", "words.csv", tmp_path)
    assert "line 2 has only one column" in str(refused.value)
    german = in_german(refused.value)
    assert german.startswith("words.csv: 1 von 2 Zeilen ist kein Paar (Zeile 2 hat nur eine Spalte)")
    assert "column" not in german and "Semikolon" in german


def test_a_description_is_german_and_a_nameless_text_has_the_same_file_in_every_language(tmp_path: Path):
    path = take_in(b"one\ntwo\n", "", tmp_path).path
    assert "1 line, from" in str(open_corpus(path).description) and path.name == "the text.txt"
    assert in_german(open_corpus(path).description).startswith("1 Zeile aus")
    with speaking("de"):
        assert take_in(b"one\ntwo\n", "", tmp_path).path == path
