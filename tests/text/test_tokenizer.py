"""Tokenizers give back what they were given, and say calmly what they cannot read."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transformer_core.errors import CheckpointError, ConfigError, TextError
from transformer_core.text.tokenizer import SPECIAL_TOKENS, Kind, Tokenizer, train_tokenizer

KINDS: tuple[Kind, ...] = ("word", "character", "byte_bpe")
TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué, jusqu'à aujourd'hui.",
    "Où est l'oiseau? (Ici!) 😀 <eos>",
)
TOKENIZERS = {kind: train_tokenizer(TEXTS, kind=kind, vocab_size=400) for kind in KINDS}
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


@given(st.text(sorted({character for text in TEXTS for character in text})))
def test_characters_come_back(text: str):
    tokenizer = TOKENIZERS["character"]
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.tokens(ids) == list(text)


WORDS = "the didn't l'animal n'a qu'il jusqu'à aujourd'hui s'ils quelqu'un où été c'est".split()
SENTENCES = train_tokenizer([*WORDS, "( ) , : ? . !"], kind="word")
A_WORD = st.tuples(st.sampled_from(WORDS), st.booleans(), st.sampled_from(["", "", "", ",", ":", "?"]))


@given(st.lists(A_WORD, min_size=1), st.sampled_from([".", "!", ""]))
def test_sentences_come_back(words: list[tuple[str, bool, str]], end: str):
    """The spelling that `decode` writes: a capital in front, signs joined to what they follow, elisions to the next."""
    text = " ".join((f"({word})" if in_brackets else word) + sign for word, in_brackets, sign in words) + end
    text = text[0].upper() + text[1:]
    assert SENTENCES.decode(SENTENCES.encode(text, bos=True, eos=True)) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("didn't", ["didn't"]),
        ("Can't, WON'T", ["can't", ",", "won't"]),
        ("l'animal n'a", ["l'", "animal", "n'", "a"]),
        ("qu'il jusqu'à puisqu'elle", ["qu'", "il", "jusqu'", "à", "puisqu'", "elle"]),
        ("Quelqu'un aujourd'hui", ["quelqu'", "un", "aujourd'hui"]),
        ("L’animal didn’t", ["l'", "animal", "didn't"]),  # curly apostrophes
        ("e\u0301te\u0301", ["été"]),  # decomposed accents
        ("ÉTÉ", ["été"]),
        ("the cat's", ["the", "cat", "'", "s"]),  # English clitics other than n't fall apart
        ("peut-être", ["peut", "-", "être"]),
        ("l' animal", ["l", "'", "animal"]),  # no elision without a word behind it
        ("(a,b)...", ["(", "a", ",", "b", ")", ".", ".", "."]),
        ("<eos>", ["<", "eos", ">"]),
        (" \t\n\u00a0", []),
        ("42 x2", ["42", "x2"]),
    ],
)
def test_words(text: str, words: list[str]):
    tokenizer = train_tokenizer([text], kind="word")
    assert tokenizer.tokens(tokenizer.encode(text)) == words


@given(ANY_TEXT)
@example("été fatigue\u0301 a\u0323\u0302")
@example("각 ᄀ\u1161\u11a8 b\x00\x1c")
def test_pieces_are_the_text_as_typed(text: str):
    """Nothing that was typed is lost: only the white space between words is in no piece."""
    word, character = (TOKENIZERS[kind].pieces(text) for kind in ("word", "character"))
    assert "".join(word) == WHITE_SPACE.sub("", as_utf8_holds_it(text))
    assert character == list(as_utf8_holds_it(text))


@given(ANY_TEXT)
@settings(max_examples=50)
def test_a_piece_belongs_to_each_token(text: str):
    for tokenizer in TOKENIZERS.values():
        ids, pieces = tokenizer.encode(text), tokenizer.pieces(text)
        assert len(ids) == len(pieces)
        assert all(piece and piece in as_utf8_holds_it(text) for piece in pieces)
        unknown = [piece for i, piece in zip(ids, pieces, strict=True) if i == tokenizer.unk_id]
        assert tokenizer.unknown_words(text) == list(dict.fromkeys(unknown))


def test_unknown_words_are_shown_as_typed():
    words, characters, bytes_ = (TOKENIZERS[kind] for kind in KINDS)
    text = "The Zébu crossed ZE\u0301BU 👩🏽 \0 the שלום Zébu"
    assert words.unknown_words(text) == ["Zébu", "crossed", "ZE\u0301BU", "👩", "🏽", "\0", "שלום"]
    assert characters.unknown_words("The Zz z<Z\0") == ["Z", "z", "\0"]
    assert bytes_.unknown_words(text) == []
    assert set(bytes_.pieces("👩👩")) == {"👩"}  # each part of a character shows the whole of it


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens(kind: Kind):
    tokenizer = TOKENIZERS[kind]
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id) == (0, 1, 2, 3)
    assert tokenizer.tokens(range(4)) == list(SPECIAL_TOKENS)
    assert tokenizer.encode("a", bos=True, eos=True) == [1, *tokenizer.encode("a"), 2]
    assert tokenizer.decode([0, 1, 2, 3]) == tokenizer.decode([]) == ""
    assert not {0, 1, 2} & {*tokenizer.encode("<pad> <bos> <eos>")}
    labels = tokenizer.tokens(range(tokenizer.vocab_size))
    assert all(isinstance(label, str) and label for label in labels)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("token", [-1, 10_000, 2**70])
def test_a_token_that_does_not_exist(kind: Kind, token: int):
    for method in (TOKENIZERS[kind].decode, TOKENIZERS[kind].tokens):
        with pytest.raises(TextError, match=f"token {token} is not in the vocabulary"):
            method([0, token])


@pytest.mark.parametrize("kind", KINDS)
def test_vocab_size_is_a_limit(kind: Kind):
    for vocab_size in (4, 5, 300, 1000):
        tokenizer = train_tokenizer(TEXTS, kind=kind, vocab_size=vocab_size)
        assert tokenizer.vocab_size <= max(vocab_size, 260 if kind == "byte_bpe" else 4)
        assert all(0 <= i < tokenizer.vocab_size for i in tokenizer.encode("the other one 😀"))
    assert train_tokenizer([], kind=kind).vocab_size == (260 if kind == "byte_bpe" else 4)
    with pytest.raises(ConfigError, match=r"vocab_size \(3\) must be at least 4"):
        train_tokenizer(TEXTS, kind=kind, vocab_size=3)


def save_tokenizers_of_ties(folder: Path) -> None:
    """Train on texts in which many words, characters and pairs are equally frequent, and not all have room."""
    texts = ["d c b a", "ab ac ad ba", "zz zz yy yy xy yx"]
    train_tokenizer(texts, kind="word", vocab_size=8).save(folder / "word")
    train_tokenizer(texts, kind="character", vocab_size=6).save(folder / "character")
    train_tokenizer(texts, kind="byte_bpe", vocab_size=268).save(folder / "byte_bpe")


def test_training_gives_the_same_files_in_every_process(tmp_path: Path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    save_tokenizers_of_ties(here)
    code = f"""
import pathlib
from transformer_core.text.tokenizer import train_tokenizer
{inspect.getsource(save_tokenizers_of_ties).replace("Path", "pathlib.Path")}
save_tokenizers_of_ties(pathlib.Path({str(there)!r}))"""
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=root, check=True, timeout=60)
    for kind in KINDS:
        assert (here / kind).read_bytes() == (there / kind).read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load(kind: Kind, tmp_path: Path):
    TOKENIZERS[kind].save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    text = "L’animal didn't <eos> 😀"
    assert loaded.kind == kind
    assert loaded.encode(text) == TOKENIZERS[kind].encode(text)
    assert loaded.decode(loaded.encode(text)) == TOKENIZERS[kind].decode(loaded.encode(text))
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()


def refusal(path: Path) -> str:
    """The sentence with which a file is refused."""
    with pytest.raises(CheckpointError) as caught:
        Tokenizer.load(path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "Error" not in sentence and "Exception" not in sentence and "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000),
        *(b"{}", b'{"headlight": 3}', b'{"headlight": {"kind": "word"}}'),
    ],
)
def test_a_damaged_file(content: bytes, tmp_path: Path):
    (tmp_path / "tokenizer.json").write_bytes(content)
    assert "damaged" in refusal(tmp_path / "tokenizer.json")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_was_changed(kind: Kind, tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    TOKENIZERS[kind].save(path)
    text = path.read_text(encoding="utf-8")
    values = json.loads(text)
    without_end = [token for token in values["added_tokens"] if token["content"] != "<eos>"]
    vocab = {token: i for token, i in values["model"]["vocab"].items() if i != 6}
    for damaged in (
        text[: len(text) // 2],
        json.dumps(values | {"headlight": {"kind": "sentence"}}),
        json.dumps(values | {"model": values["model"] | {"vocab": vocab}}),  # a number that no token has
        json.dumps(values | {"added_tokens": without_end}).replace('"<eos>"', '"<end>"'),
    ):
        path.write_text(damaged, encoding="utf-8")
        assert "damaged" in refusal(path)


def test_what_is_no_tokenizer_of_ours(tmp_path: Path):
    assert refusal(tmp_path / "tokenizer.json").startswith("there is no tokenizer at")
    assert refusal(tmp_path).endswith("cannot be read (Is a directory)")


def test_a_foreign_tokenizer(shared_data: Path):
    assert "was not made here" in refusal(shared_data / "tokenizers" / "gpt2" / "tokenizer.json")
