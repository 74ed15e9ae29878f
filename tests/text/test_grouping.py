"""Words out of tokens: the same words whatever cuts the text, and nothing lost between them."""

from itertools import groupby

from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from tests.text import hub_folders
from tests.text.test_labels import LETTERS
from transformer_core.text.foreign import ForeignTokenizer
from transformer_core.text.interface import Tokenizer
from transformer_core.text.tokenizer import train_tokenizer
from transformer_core.text.words import word_labels, word_places

TEXTS = hub_folders.TEXTS[:4]
WORD = train_tokenizer(TEXTS, kind="word")
CHARACTER = train_tokenizer([*TEXTS, "…’-_k"], kind="character")
NO_ROLES = dict.fromkeys(["pad", "bos", "eos", "unk", "mask"])
BYTES = train_tokenizer(TEXTS, kind="byte_bpe", vocab_size=260)  # each byte a token
PIECES = train_tokenizer(TEXTS, kind="byte_bpe", vocab_size=380)


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


def test_the_space_belongs_to_the_word_behind_it():
    ids = BYTES.encode("café €")[:-1]  # an unfinished letter is a separate word
    assert word_places(BYTES, ids) == (0, 0, 0, 0, 0, 1, 1, 1)
    ids = WORD.encode("L'animal n'a pas zzz.", bos=True, eos=True)  # here each token is a word
    assert word_places(WORD, ids) == tuple(range(len(ids)))
    ids = CHARACTER.encode("it  is", bos=True, eos=True)
    assert word_places(CHARACTER, ids) == (0, 1, 1, 2, 2, 2, 2, 3)


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


def test_labels_of_words_by_hand():
    places = (0, 1, 1, 2, 2, 2, 3, 4, 4, 5)
    labels = ["<bos>", "·un", "##able", "na ï 1/2", "ï 2/2 v é 1/2", "é 2/2", "##ing", "·", "·a", "<unk> Zebra"]
    assert word_labels(labels, places) == ("<bos>", "unable", "naïvé", "##ing", "a", "<unk> Zebra")
    assert word_labels(["·", "··", "1/2", "<empty>", "a"], [0, 0, 1, 1, 2]) == ("···", "1/2", "a")
    assert word_labels(["<empty>", "<empty>"], [0, 0]) == ("<empty>",)
    assert word_labels([], []) == ()
