"""Token ids as text: read, said back, and refused where the model has none of that number."""

from pathlib import Path

import pytest

from tests.text.refusals import refusal
from transformer_core.config import Architecture
from transformer_core.errors import TextError
from transformer_core.model.presets import tiny
from transformer_core.text.ids import IdTokenizer
from transformer_core.text.load import load_tokenizer
from transformer_core.text.words import word_places


def tokenizer(vocab_size: int = 50257, **special: int | None) -> IdTokenizer:
    return IdTokenizer(vocab_size, special)


def test_ids_are_read_however_they_are_written():
    for text in ("[464, 3290, 318]", " 464\t3290;318 ", "0464 003290 318", "464,3290,318"):
        assert tokenizer().encode(text) == [464, 3290, 318]


def test_what_is_decoded_is_encoded_again():
    ids = [0, 7, 50256, 7, 7, 12]
    assert tokenizer(eos=50256).decode(ids) == "0 7 50256 7 7 12"
    assert tokenizer().encode(tokenizer().decode(ids)) == ids
    assert tokenizer(eos=50256).labels(ids) == ["0", "7", "50256", "7", "7", "12"]
    assert tokenizer(eos=50256).labels_for("0, 007 50256", "decoder_only") == ["0", "7", "50256"]
    assert tokenizer(eos=50256).is_special(ids) == [i == 50256 for i in ids]
    assert word_places(tokenizer(eos=7), ids) == (0, 1, 2, 3, 4, 5)  # each id is a separate word


@pytest.mark.parametrize(
    ("architecture", "read"),
    [("encoder_decoder", [5, 6, 1]), ("decoder_only", [5, 6]), ("encoder_only", [5, 6])],
)
def test_only_the_text_of_an_encoder_decoder_gets_its_end(architecture: Architecture, read: list[int]):
    assert tokenizer(9, eos=1).encode_for("5 6", architecture) == read
    assert tokenizer(9, eos=1).encode_for("5 6 1", architecture) == [5, 6, 1]
    assert tokenizer(9).encode_for("5 6", architecture) == [5, 6]
    assert tokenizer(9).encode_for(" ", architecture) == []


def test_two_texts_of_ids_are_a_pair_where_the_model_has_segments(tmp_path: Path):
    IdTokenizer(9, {}, n_segments=2).save(tmp_path / "tokenizer.json")
    ids = load_tokenizer(tmp_path / "tokenizer.json")
    assert ids.takes_pairs and ids.encode_for(("1 5 2", "6 2"), "encoder_only") == [1, 5, 2, 6, 2]
    assert ids.segments_for(("1 5 2", "6 2")) == ([0, 0, 0, 1, 1], 3)
    assert ids.segments_for(("1 5 2", " ")) == ([0, 0, 0], None)
    assert not tokenizer(9).takes_pairs and tokenizer(9).encode_for(("1 5", ""), "encoder_only") == [1, 5]
    with pytest.raises(TextError, match="type them as one text"):
        tokenizer(9).encode_for(("1", "5"), "encoder_only")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("3 99999 4 50257 99999", "token ids 99999, 50257 are out of range"),
        ("9" * 5000, f"token id {'9' * 20} is out of range"),
        (" ".join(str(60_000 + i) for i in range(7)), "60000, 60001, 60002, 60003, 60004 … are out of range"),
    ],
)
def test_ids_out_of_range_are_named_with_the_range(text: str, named: str):
    with pytest.raises(TextError, match="the ids 0 to 50256") as caught:
        tokenizer().encode(text)
    assert named in str(caught.value)
    assert tokenizer().encode("050256") == [50256]


def test_words_are_refused_with_what_is_expected():
    for text in ("464 dog", "-5", "3.5", "٣", "____"):
        with pytest.raises(TextError, match="takes token ids such as 464 3290 318"):
            tokenizer().encode(text)


def test_it_is_saved_with_its_model(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    tokenizer(11, pad=0, bos=None, eos=1).save(path)
    again = load_tokenizer(path)
    assert (again.kind, again.vocab_size) == ("ids", 11)
    assert (again.pad_id, again.bos_id, again.eos_id, again.unk_id, again.mask_id) == (0, None, 1, None, None)
    path.write_text(path.read_text().replace('"eos": 1', '"eos": 11'))
    assert "damaged" in refusal(load_tokenizer, path)


def test_a_source_with_its_own_vocabulary_has_its_own_ids(tmp_path: Path):
    read = IdTokenizer.of(tiny(9).changed(src_vocab_size=20, tie_embeddings="none"))
    read.save(tmp_path / "tokenizer.json")
    for tokenizer in (read, load_tokenizer(tmp_path / "tokenizer.json")):
        assert (tokenizer.vocab_size, tokenizer.target.vocab_size) == (20, 9)
        assert tokenizer.labels_for("19 3", "encoder_decoder") == ["19", "3", "2"]
        assert tokenizer.encode_batch(["19"]) == [[19]] and tokenizer.decode([19]) == "19" == tokenizer.tokens([19])[0]
        with pytest.raises(TextError, match="ids 0 to 8"):
            tokenizer.target.encode("19")
