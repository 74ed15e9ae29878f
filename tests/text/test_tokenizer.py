"""Tokenizers give back what they were given, and say calmly what they cannot read."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transformer_core.config import Architecture, TokenizerKind
from transformer_core.errors import ConfigError, TextError
from transformer_core.text.tokenizer import MASK, SPECIAL_TOKENS, train_tokenizer

KINDS: tuple[TokenizerKind, ...] = ("word", "character", "byte_bpe")
TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué, jusqu'à aujourd'hui.",
    "Où est l'oiseau? (Ici!) 😀 <eos>",
)
TOKENIZERS = {kind: train_tokenizer(TEXTS, kind=kind, vocab_size=400) for kind in KINDS}
WITH_MASK = {kind: train_tokenizer(TEXTS, kind=kind, vocab_size=400, mask=True) for kind in KINDS}
WORDS_OF_TEXTS = sorted({word for text in TEXTS[:2] for word in re.findall(r"\w+", text)})
WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")  # Unicode's White_Space

ANY_TEXT = st.text(st.characters()) | st.lists(  # with lone surrogates
    st.sampled_from(
        ["<eos>", "<pad>", "e\u0301", "👩‍🚒", "שלום", "\0", "\ufeff", "\r\n", "é", "’", "ᄀ\u1161", " ", "a"]
    )
).map("".join)


def as_utf8_holds_it(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)


@given(ANY_TEXT)
@example("")
@example("a <eos> b<pad>")
@example("\ud83d\ude00")  # two halves of an emoji are two characters that UTF-8 cannot hold
def test_byte_bpe_gives_any_text_back(text: str):
    tokenizer = TOKENIZERS["byte_bpe"]
    ids = tokenizer.encode(text, bos=True, eos=True)
    assert tokenizer.decode(ids) == as_utf8_holds_it(text)
    assert not {*ids[1:-1]} & {0, 1, 2, 3}


@given(ANY_TEXT)
@example("été fatigue\u0301 a\u0323\u0302")
@example("각 ᄀ\u1161\u11a8 b\x00\x1c")
def test_pieces_are_the_text_as_typed(text: str):
    """Nothing that was typed is lost: only the white space between words is in no piece."""
    word, character = (TOKENIZERS[kind].pieces(text) for kind in ("word", "character"))
    assert "".join(word) == WHITE_SPACE.sub("", as_utf8_holds_it(text))
    assert character == list(as_utf8_holds_it(text))
    for tokenizer in TOKENIZERS.values():
        ids, pieces = tokenizer.encode(text), tokenizer.pieces(text)
        short_words = f"{text}{' 1' * 90}\n{text}"
        assert tokenizer.encode_batch([text, "a"]) == [ids, tokenizer.encode("a")]
        assert tokenizer.encode_batch([short_words] * 2) == [tokenizer.encode(short_words)] * 2
        assert len(ids) == len(pieces)
        assert all(piece and piece in as_utf8_holds_it(text) for piece in pieces)
        unknown = [piece for i, piece in zip(ids, pieces, strict=True) if i == tokenizer.unk_id]
        assert tokenizer.unknown_words(text) == list(dict.fromkeys(unknown))


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens(kind: TokenizerKind):
    tokenizer = TOKENIZERS[kind]
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id) == (0, 1, 2, 3)
    assert tokenizer.tokens(range(4)) == list(SPECIAL_TOKENS)
    assert tokenizer.encode("a", bos=True, eos=True) == [1, *tokenizer.encode("a"), 2]
    assert tokenizer.decode([0, 1, 2, 3]) == tokenizer.decode([]) == ""
    assert not {0, 1, 2} & {*tokenizer.encode("<pad> <bos> <eos>")}
    assert all(tokenizer.tokens(range(tokenizer.vocab_size)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_mask_is_token_4_where_there_is_one(kind: TokenizerKind):
    without, tokenizer = TOKENIZERS[kind], WITH_MASK[kind]
    assert without.mask_id is None
    assert tokenizer.mask_id == 4
    assert tokenizer.tokens([4]) == tokenizer.labels([4]) == [MASK]
    assert tokenizer.decode([4]) == ""
    assert 4 not in tokenizer.encode("<mask> [MASK] ____")  # a text is a text; only an encoder's is read otherwise
    with pytest.raises(ConfigError, match=r"vocab_size \(4\) must be at least 5"):
        train_tokenizer(TEXTS, kind=kind, vocab_size=4, mask=True)


@pytest.mark.parametrize("kind", KINDS)
def test_what_each_architecture_reads(kind: TokenizerKind):
    tokenizer = WITH_MASK[kind]
    ids = tokenizer.encode("the street")
    expected: dict[Architecture, list[int]] = {
        "encoder_decoder": [*ids, tokenizer.eos_id],
        "decoder_only": [tokenizer.bos_id, *ids],
        "encoder_only": [tokenizer.bos_id, *ids, tokenizer.eos_id],
    }
    for architecture, read in expected.items():
        assert tokenizer.encode_for("the street", architecture) == read
        assert tokenizer.labels_for("the street", architecture) == tokenizer.labels(read)
    gap = "the ____ <mask>"
    assert tokenizer.encode_for(gap, "decoder_only") == [1, *tokenizer.encode(gap)]
    assert TOKENIZERS[kind].encode_for(gap, "encoder_only") == [1, *TOKENIZERS[kind].encode(gap), 2]
    assert tokenizer.target is tokenizer


A_GAP = st.sampled_from(["__", "_____", "<mask>", "[MASK]"])


@given(st.lists(st.sampled_from(WORDS_OF_TEXTS), min_size=1), st.integers(0, 9), A_GAP, st.sampled_from(KINDS))
def test_around_a_gap_the_text_is_cut_as_if_a_word_stood_there(
    words: list[str], place: int, gap: str, kind: TokenizerKind
):
    place = min(place, len(words) - 1)
    before, after = words[:place], words[place + 1 :]
    tokenizer = WITH_MASK[kind]
    whole = tokenizer.encode(" ".join(words))
    n_before = len(tokenizer.encode(" ".join([*before, ""] if kind == "character" and before else before)))
    n_after = len(tokenizer.encode(" ".join(["", *after]) if after else ""))
    expected = [1, *whole[:n_before], 4, *whole[len(whole) - n_after :], 2]
    assert tokenizer.encode_for(" ".join([*before, gap, *after]), "encoder_only") == expected


def test_gaps_by_hand():
    labels = WITH_MASK["byte_bpe"].labels_for("e  __ __ [MASK]a_b", "encoder_only")
    assert labels == ["<bos>", "e", "·", *["<mask>"] * 3, "a", "_", "b", "<eos>"]
    assert WITH_MASK["word"].labels_for("L’____ qu'<mask>, dogs' __", "encoder_only") == [
        *("<bos>", "L’", "<mask>", "qu'", "<mask>", ",", "<unk> dogs", "<unk> '", "<mask>", "<eos>")
    ]


def test_labels_show_unknown_words_as_typed():
    words, characters, bytes_ = (TOKENIZERS[kind] for kind in KINDS)
    labels = words.labels_for("The Zébu crossed ZE\u0301BU 👩🏽 \u202e!", "encoder_decoder")
    typed = ["<unk> Zébu", "<unk> crossed", "<unk> ZE\u0301BU", "<unk> 👩", "<unk> 🏽", "<unk> <RLO>", "!"]
    assert labels == ["The", *typed, "<eos>"]
    assert words.unknown_words("The Zébu crossed the שלום Zébu \0") == ["Zébu", "crossed", "שלום", "\0"]
    assert bytes_.unknown_words("Zébu") == [] and set(bytes_.pieces("👩👩")) == {"👩"}  # each part shows the whole
    assert characters.labels_for("e z\n", "decoder_only") == ["<bos>", "e", "·", "<unk> z", "<unk> ↵"]
    assert bytes_.labels_for("Zé", "decoder_only") == ["<bos>", "Z", "é"]
    assert characters.labels(characters.encode("it's")) == ["i", "t", "'", "s"]


@pytest.mark.parametrize("token", [-1, TOKENIZERS["word"].vocab_size])
def test_a_token_that_does_not_exist(token: int):
    words = TOKENIZERS["word"]
    for method in (words.decode, words.tokens, words.labels):
        with pytest.raises(TextError, match=f"token id {token} is not in the vocabulary"):
            method([0, token])


@pytest.mark.parametrize("kind", KINDS)
def test_vocab_size_is_a_limit(kind: TokenizerKind):
    for vocab_size in (4, 5, 300, 1000):
        tokenizer = train_tokenizer(TEXTS, kind=kind, vocab_size=vocab_size)
        assert tokenizer.vocab_size <= max(vocab_size, 260 if kind == "byte_bpe" else 4)
        assert all(0 <= i < tokenizer.vocab_size for i in tokenizer.encode("the other one 😀"))
    assert train_tokenizer([], kind=kind).vocab_size == (260 if kind == "byte_bpe" else 4)
    with pytest.raises(ConfigError, match=r"vocab_size \(3\) must be at least 4"):
        train_tokenizer(TEXTS, kind=kind, vocab_size=3)


TRAIN_ON_TIES = """
from transformer_core.text.tokenizer import train_tokenizer
texts = ["d c b a", "ab ac ad ba", "zz zz yy yy xy yx"]
for kind, size in (("word", 8), ("character", 6), ("byte_bpe", 268)):
    print(train_tokenizer(texts, kind=kind, vocab_size=size).to_json())
"""


def test_training_gives_the_same_tokenizer_in_every_process():
    """Of texts in which many words, characters and pairs are equally frequent, and not all have room."""
    command, root = [sys.executable, "-c", TRAIN_ON_TIES], Path(__file__).resolve().parents[2]
    actual = {
        subprocess.run(
            command, env=os.environ | {"PYTHONHASHSEED": seed}, cwd=root, capture_output=True, check=True
        ).stdout
        for seed in "123"
    }
    assert len(actual) == 1


def test_a_word_that_a_person_types_is_one_token():
    words = train_tokenizer(["the red ball"], kind="word", mask=True)
    assert words.labels([words.token_of(" Ball ")]) == ["ball"]
    for typed, message in {
        "red ball": "has 2 tokens",
        "  ": "has no tokens",
        "kite": "“kite” is not in the voc",
    }.items():
        with pytest.raises(TextError, match=message):
            words.token_of(typed)
    pieces = train_tokenizer(["the red ball the red ball"], kind="byte_bpe", vocab_size=280, mask=True)
    assert pieces.tokens([pieces.token_of("red")]) == [" red"]


def test_a_continuation_has_no_new_capital_and_loses_nothing_of_a_letter_in_parts():
    words, bytes_ = (TOKENIZERS[kind] for kind in ("word", "byte_bpe"))
    assert words.continuation(words.encode("the animal didn't"), 1) == " animal didn't"
    ids = bytes_.encode("a 🐟!")  # all four bytes of the fish are given, or three of them
    assert [bytes_.continuation(ids, n) for n in (len(ids) - 1, len(ids) - 2)] == ["!", "\ufffd!"]
