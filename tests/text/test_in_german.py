"""What is wrong with a tokenizer, or with what it is given, in German."""

from pathlib import Path

import pytest

from tests.german import in_german
from transformer_core.errors import CheckpointError, ConfigError, TextError
from transformer_core.text.interface import from_zero
from transformer_core.text.load import load_foreign
from transformer_core.text.tokenizer import train_tokenizer


def test_whole_sentences(tmp_path: Path):
    with pytest.raises(CheckpointError) as no_tokenizer:
        load_foreign(tmp_path)
    with pytest.raises(ConfigError) as no_room:
        train_tokenizer(["a"], kind="word", vocab_size=3)
    with pytest.raises(TextError) as below:
        from_zero([3, -1])
    assert in_german(no_tokenizer.value) == (
        f"{tmp_path} hat keinen Tokenizer (tokenizer.json, vocab.json mit merges.txt, vocab.txt, "
        "spiece.model, tokenizer.model, source.spm mit target.spm mit vocab.json); kopiere das ganze Modell noch einmal"
    )
    assert in_german(no_room.value) == "vocab_size (3) muss mindestens 4 sein, für die Spezial-Token"
    assert in_german(below.value) == "die Token-ID -1 ist nicht im Vokabular; IDs beginnen bei 0"


def test_which_end_is_lacking():
    tokenizer = train_tokenizer(["a b"], kind="word")
    tokenizer.bos_id = tokenizer.eos_id = None  # as of one that was made elsewhere
    for bos, english, german in ((True, "beginning", "den Anfang"), (False, "end", "das Ende")):
        with pytest.raises(TextError) as caught:
            tokenizer.encode("a", bos=bos, eos=not bos)
        assert str(caught.value) == f"this tokenizer has no {english}-of-sequence token; encode the text without it"
        assert (
            in_german(caught.value)
            == f"dieser Tokenizer hat kein Token für {german} der Sequenz; codiere den Text ohne es"
        )
