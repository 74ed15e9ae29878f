"""Tokenizers from elsewhere cut texts as transformers does, say what each token is, and keep in our own folders."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Metaspace

from tests.text import hub_folders
from tests.text.hub_folders import FAMILIES, Pair, theirs
from tests.text.test_labels import LETTERS, disturbs
from transformer_core.errors import TextError
from transformer_core.text.foreign import ForeignTokenizer
from transformer_core.text.interface import WRITTEN_MASK
from transformer_core.text.load import load_foreign, load_tokenizer

WRITTEN = [
    *("</s>", "<s>", "[MASK]", "[SEP]", "<unk>", "<|endoftext|>", "<|eot_id|>", "<extra_id_3>"),
    *("    ", "\r\n", "▁"),
]
ANY_TEXT = st.lists(st.text() | st.sampled_from([*WRITTEN, *LETTERS, *" ".join(hub_folders.TEXTS[:4]).split(" ")])).map(
    " ".join
)


@settings(max_examples=10)
@given(text=ANY_TEXT)
@example(text="")
@example(text=hub_folders.TEXTS[3])
def test_texts_are_cut_as_transformers_does(pair: Pair, text: str):
    ours, other = pair
    read = other(text)["input_ids"]
    assert ours.encode_for(text, "decoder_only") == ours.encode_for(text, "encoder_decoder") == read
    assert ours.encode(text) == other(text, add_special_tokens=False)["input_ids"]
    assert ours.encode_batch([text, "a"]) == [ours.encode(text), ours.encode("a")]
    written = other.decode(read, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    assert ours.decode(read) == written


@settings(max_examples=10)
@given(text=ANY_TEXT)
def test_every_token_has_a_piece_and_a_label(pair: Pair, text: str):
    ours, _ = pair
    ids, pieces = ours.encode(text), ours.pieces(text)
    assert len(ids) == len(pieces)
    assert all(piece in text for piece in pieces)
    unknown = [piece.strip() or piece for i, piece in zip(ids, pieces, strict=True) if i == ours.unk_id]
    assert ours.unknown_words(text) == list(dict.fromkeys(unknown))
    labels = ours.labels_for(text, "decoder_only")
    assert len(labels) == len(ours.encode_for(text, "decoder_only"))
    assert len(ours.labels(ids)) == len(ours.tokens(ids)) == len(ids)
    assert not any(map(disturbs, labels))
    assert "\ufffd" in text or not any("\ufffd" in label for label in labels)


def test_an_unknown_word_is_shown_as_typed_without_the_space_in_front_of_it(tmp_path: Path):
    words = Backend(WordLevel({"<unk>": 0, "▁the": 1, "▁street": 2}, unk_token="<unk>"))
    words.pre_tokenizer = Metaspace()  # a word's token begins with its space
    words.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"unk_token": "<unk>"}', encoding="utf-8")
    ours, text = load_foreign(tmp_path), "the zebra  street ☃"
    assert ours.pieces(text) == ["the", " zebra", " ", " street", " ☃"]
    shown = ["·the", "<unk> zebra", "<unk> ·", "·street", "<unk> ☃"]
    assert ours.labels_for(text, "decoder_only") == shown
    assert ours.unknown_words(text) == ["zebra", " ", "☃"]


ROLES = {
    "gpt2": (None, "<|endoftext|>", "<|endoftext|>", None, None),
    "roberta": ("<pad>", "<s>", "</s>", None, "<mask>"),  # its bytes spell whatever is in no token
    "qwen2": ("<|endoftext|>", None, "<|endoftext|>", None, None),
    "bert": ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"),
    "t5": ("<pad>", None, "</s>", "<unk>", None),
    "llama": (None, "<s>", "</s>", None, None),  # single bytes for all that is in no piece
    "llama_2": (None, "<s>", "</s>", "<unk>", None),
    "llama_3": (None, "<|begin_of_text|>", "<|end_of_text|>", None, None),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens(pairs: dict[str, Pair], family: str):
    ours, other = pairs[family]
    ids = (ours.pad_id, ours.bos_id, ours.eos_id, ours.unk_id, ours.mask_id)
    spelt = tuple(None if i is None else ours.labels([i])[0] for i in ids)
    assert spelt == ROLES[family.removesuffix(".json")]
    assert (ours.kind, ours.vocab_size) == ("foreign", len(other))
    assert ours.decode([i for i in ids if i is not None]) == ""
    if ours.bos_id is None:
        with pytest.raises(TextError, match="no beginning-of-sequence token"):
            ours.encode("a", bos=True)
    else:
        assert ours.encode("a", bos=True, eos=True) == [ours.bos_id, *ours.encode("a"), ours.eos_id]


def test_gaps_are_read_as_masks_by_an_encoder(pairs: dict[str, Pair]):
    ours, other = pairs["bert.json"]
    read = other("the [MASK] was [MASK].")["input_ids"]
    for text in ("the ____ was __.", "the <mask> was [MASK].", "the <mask>was___."):
        assert ours.encode_for(text, "encoder_only") == read
    assert ours.encode_for("____", "decoder_only") == other("____")["input_ids"]
    for family in ("gpt2.json", "t5.json"):
        ours, other = pairs[family]
        assert ours.encode_for("a ____", "encoder_only") == other("a ____")["input_ids"]


def test_two_texts_are_put_into_the_template_of_pairs(pairs: dict[str, Pair]):
    texts = ("the  street ____", "was <mask> wide.")
    for family in ("bert.json", "roberta.json", "bert", "roberta"):
        ours, other = pairs[family]
        read = other(*(WRITTEN_MASK.sub(other.mask_token, text) for text in texts), return_token_type_ids=True)
        assert ours.takes_pairs and ours.encode_for(texts, "encoder_only") == read["input_ids"]
        assert ours.segments_for(texts) == (read["token_type_ids"], read.sequence_ids().index(1))
        assert len(ours.labels_for(texts, "encoder_only")) == len(read["input_ids"])
    with pytest.raises(TextError, match="only encoder-only models"):
        ours.encode_for(texts, "decoder_only")
    ours, _ = pairs["gpt2.json"]
    assert not ours.takes_pairs
    with pytest.raises(TextError, match="no template for two texts"):
        ours.encode_for(texts, "encoder_only")


def test_numbers_above_the_vocabulary(pairs: dict[str, Pair]):
    """The matrices of a model may be larger than its vocabulary, rounded up; it may say such a number."""
    for ours, _ in pairs.values():
        n = ours.vocab_size
        assert ours.labels([n, n + 9999]) == ours.tokens([n, n + 9999]) == [f"<no.{n}>", f"<no.{n + 9999}>"]
        assert ours.decode([n]) == ""
        with pytest.raises(TextError, match="token id -1 is not in the vocabulary"):
            ours.labels([0, -1])


def test_lengths_that_somebody_trained_with_do_not_count(folders: dict[str, Path], tmp_path: Path):
    folder = shutil.copytree(folders["bert.json"], tmp_path / "bert")
    values = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    values["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    values["padding"] = {"strategy": {"Fixed": 32}, "direction": "Right", "pad_to_multiple_of": None}
    values["padding"] |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    hub_folders.write(folder, tokenizer=values)
    text = hub_folders.TEXTS[0]
    assert load_foreign(folder).encode_for(text, "encoder_only") == theirs(folder)(text)["input_ids"]


def test_special_tokens_where_the_folder_says_nothing_of_them(folders: dict[str, Path], tmp_path: Path):
    for family in ("gpt2.json", "bert.json", "t5.json"):
        folder = tmp_path / family
        folder.mkdir()
        shutil.copy(folders[family] / "tokenizer.json", folder)
        bare, full = load_foreign(folder), load_foreign(folders[family])
        for role in ("pad_id", "bos_id", "eos_id", "unk_id", "mask_id"):
            assert getattr(bare, role) == getattr(full, role)


@pytest.mark.parametrize("family", FAMILIES)
def test_save_and_load(pairs: dict[str, Pair], family: str, tmp_path: Path):
    ours, _ = pairs[family]
    ours.save(tmp_path / "tokenizer.json")
    loaded = load_tokenizer(tmp_path / "tokenizer.json")
    assert isinstance(loaded, ForeignTokenizer)
    for text in [*hub_folders.TEXTS[:4], "a ____ [MASK]</s> <|eot_id|>", " x"]:
        assert loaded.encode_for(text, "encoder_only") == ours.encode_for(text, "encoder_only")
        assert loaded.labels_for(text, "encoder_only") == ours.labels_for(text, "encoder_only")
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()
