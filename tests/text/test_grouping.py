"""Words out of tokens: the same words whatever cuts the text, and nothing lost between them."""

from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from tests.text import hub_folders
from tests.text.test_labels import LETTERS
from transformer_core.errors import TextError
from transformer_core.text.foreign import ForeignTokenizer
from transformer_core.text.grouping import word_labels, word_places
from transformer_core.text.interface import Tokenizer
from transformer_core.text.load import load_foreign
from transformer_core.text.tokenizer import train_tokenizer

TEXTS = hub_folders.TEXTS[:4]
WORD = train_tokenizer(TEXTS, kind="word")
CHARACTER = train_tokenizer([*TEXTS, "…’-_k"], kind="character")
NO_ROLES = dict.fromkeys(["pad", "bos", "eos", "unk", "mask"])
BYTES = train_tokenizer(TEXTS, kind="byte_bpe", vocab_size=260)  # each byte a token
PIECES = train_tokenizer(TEXTS, kind="byte_bpe", vocab_size=380)


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokenizer]:
    root = tmp_path_factory.mktemp("families")
    folders = {
        "llama_2": hub_folders.llama_2(root / "llama_2", hub_folders.llama_model()),
        "llama_3": hub_folders.llama_3(root / "llama_3"),
        "marian": hub_folders.marian(root / "marian"),
    }
    return {name: load_foreign(folder) for name, folder in folders.items()}


def words_of(tokenizer: Tokenizer, text: str) -> tuple[str, ...]:
    ids = tokenizer.encode(text)
    return word_labels(tokenizer.labels(ids), word_places(tokenizer, ids))


@given(st.lists(st.sampled_from([*"aeI'’.,-_ 1é", "n't", "l'", " don't", "qu'", "aujourd'hui", "  "])).map("".join))
@example("I don't know l’animal, jusqu'à... (1984)")
def test_words_are_what_the_word_tokenizer_takes_for_words(text: str):
    """Cut by the `tokenizers` library, which has another engine for the pattern."""
    expected = tuple(WORD.pieces(text))
    for tokenizer in (CHARACTER, BYTES):
        words = words_of(tokenizer, text)
        assert words[: len(expected)] == expected
        assert len(words) == len(expected) or (set(words[-1]) == {"·"} and text.endswith(" "))


ANY_TEXT = st.lists(
    st.text(max_size=3) | st.sampled_from([*LETTERS, *TEXTS, " ", "  ", "\n", "\t", "'", "日本語"])
).map("".join)


@given(ANY_TEXT)
@example(" \n\n  a")
def test_no_letter_is_parted_and_numbers_rise_by_one(text: str):
    for tokenizer in (CHARACTER, BYTES, PIECES):
        ids = tokenizer.encode(text)
        places = word_places(tokenizer, ids)
        assert [place for place, _ in groupby(places)] == [*range(len(set(places)))]
        words = word_labels(tokenizer.labels(ids), places)
        assert len(words) == len(set(places)) and all(words)
    places = word_places(BYTES, BYTES.encode(text))
    byte = 0
    for letter in text:
        n_bytes = len(letter.encode())
        assert len({*places[byte : byte + n_bytes]}) == 1, f"the bytes of {letter!r} are in several words"
        byte += n_bytes


@settings(max_examples=30)
@given(text=st.lists(st.text() | st.sampled_from([*TEXTS, *LETTERS, "</s>", ">>fra<<", "    "])).map(" ".join))
def test_every_family_has_words(families: dict[str, Tokenizer], text: str):
    for tokenizer in families.values():
        ids = tokenizer.encode_for(text, "decoder_only")
        places = word_places(tokenizer, ids)
        assert [place for place, _ in groupby(places)] == [*range(len(set(places)))]
        assert len(word_labels(tokenizer.labels(ids), places)) == len(set(places))
        for place, is_special in zip(places, tokenizer.is_special(ids), strict=True):
            assert not is_special or places.count(place) == 1, "a special token is not alone"


def test_the_families_words(families: dict[str, Tokenizer]):
    for tokenizer in families.values():
        assert words_of(tokenizer, "The animal didn't").index("didn't") == 2
        assert words_of(tokenizer, "The animal was tired.")[:5] == ("The", "animal", "was", "tired", ".")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat.", "The cat ."),
        ("  two  spaces ", "two spaces ·"),
        ("a\n\n  b\tc", "a ↵↵ b ⇥ c"),
        ("if x:\n\treturn x", "if x : ↵⇥ return x"),
        ("naïve café", "naïve café"),
        ("twenty-one, it's", "twenty - one , it ' s"),
        ("I didn't (not) …", "I didn't ( not ) …"),
        ("日本語 a", "日 本 語 a"),
        ("", ""),
    ],
)
def test_words_by_hand(text: str, words: str):
    assert words_of(BYTES, text) == tuple(words.split())
    if CHARACTER.unk_id not in CHARACTER.encode(text):
        assert words_of(CHARACTER, text) == tuple(words.split())


def test_the_space_belongs_to_the_word_behind_it():
    ids = CHARACTER.encode("a cat .")
    assert word_places(CHARACTER, ids) == (0, 1, 1, 1, 1, 2, 2)
    ids = CHARACTER.encode("it  is", bos=True, eos=True)
    assert word_places(CHARACTER, ids) == (0, 1, 1, 2, 2, 2, 2, 3)


def test_in_a_word_tokenizer_each_token_is_a_word():
    ids = WORD.encode("L'animal n'a pas zzz.", bos=True, eos=True)
    assert word_places(WORD, ids) == tuple(range(len(ids)))
    assert word_labels(WORD.labels(ids), word_places(WORD, ids)) == tuple(WORD.labels(ids))


def test_special_tokens_in_the_midst():
    ids = [*BYTES.encode("un"), BYTES.unk_id, *BYTES.encode("do"), BYTES.eos_id, BYTES.eos_id]
    assert word_places(BYTES, ids) == (0, 0, 1, 2, 2, 3, 4)


def test_a_letter_that_is_still_being_written_is_a_word_of_its_own():
    ids = BYTES.encode("café €")
    assert word_places(BYTES, ids) == (0, 0, 0, 0, 0, 1, 1, 1, 1)
    assert word_places(BYTES, ids[:-1]) == (0, 0, 0, 0, 0, 1, 1, 1)


def test_a_token_that_holds_several_words_belongs_to_the_first():
    backend = hub_folders.byte_level([])
    backend.add_tokens(["o)b", "ar ", ") ("])
    tokenizer = ForeignTokenizer(backend, NO_ROLES)
    ids = [backend.token_to_id(token) for token in ["f", "o)b", "u", "ar ", "f", ") (", "u"]]
    assert word_places(tokenizer, ids) == (0, 0, 0, 0, 1, 2, 3)


def test_wordpiece_goes_on_at_its_signs():
    pieces = ["[CLS]", "[SEP]", "[UNK]", "un", "##believ", "##able", "the", "##'", "'", "##s", "s", "."]
    backend = Backend(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.add_special_tokens(["[CLS]", "[SEP]", "[UNK]"])
    tokenizer = ForeignTokenizer(backend, NO_ROLES | {"bos": 0, "eos": 1, "unk": 2})
    ids = tokenizer.encode("the unbelievable thes zzz's.", bos=True, eos=True)
    labels = tokenizer.labels(ids)
    assert labels[1:7] == ["the", "un", "##believ", "##able", "the", "##s"]
    places = word_places(tokenizer, ids)
    assert places == (0, 1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 8)
    words = ("[CLS]", "the", "unbelievable", "thes", "[UNK]", "'", "s", ".", "[SEP]")
    assert word_labels(labels, places) == words
    behind_a_sign = [tokenizer.bos_id, 9, 7, 9]  # a text that begins in the midst of a word
    assert word_places(tokenizer, behind_a_sign) == (0, 1, 1, 1)
    assert word_labels(tokenizer.labels(behind_a_sign), (0, 1, 1, 1)) == ("[CLS]", "##s's")


def test_the_real_gpt2(shared_data: Path):
    tokenizer = load_foreign(shared_data / "tokenizers" / "gpt2")
    ids = tokenizer.encode("I didn't find it unbelievable: naïveté.<|endoftext|>", bos=True)
    assert {"·didn", "'t", "·na", "ï"} < {*tokenizer.labels(ids)}
    places = word_places(tokenizer, ids)
    words = ("<|endoftext|>", "I", "didn't", "find", "it", "unbelievable", ":", "naïveté", ".", "<|endoftext|>")
    assert word_labels(tokenizer.labels(ids), places) == words
    assert words_of(tokenizer, "a 👩‍🚒!") == ("a", "👩‍🚒", "!")


def test_labels_of_words_by_hand():
    places = (0, 1, 1, 2, 2, 2, 3, 4, 4, 5)
    labels = ["<bos>", "·un", "##able", "na ï 1/2", "ï 2/2 v é 1/2", "é 2/2", "##ing", "·", "·a", "<unk> Zebra"]
    assert word_labels(labels, places) == ("<bos>", "unable", "naïvé", "##ing", "a", "<unk> Zebra")
    assert word_labels(["·", "··", "1/2", "<empty>", "a"], [0, 0, 1, 1, 2]) == ("···", "1/2", "a")
    assert word_labels(["<empty>", "<empty>"], [0, 0]) == ("<empty>",)
    assert word_labels([], []) == ()


def test_a_token_that_is_not_there():
    with pytest.raises(TextError, match="token id 9999 is not in the vocabulary"):
        word_places(BYTES, [1, 9999])
