"""MarianMT's two sentencepiece models cut both sides as transformers does, and keep in one file of ours."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.text import hub_folders
from tests.text.refusals import refusal
from tests.text.test_labels import LETTERS, disturbs
from transformer_core.errors import TextError
from transformer_core.text.load import load_foreign, load_tokenizer
from transformer_core.text.tokenizer import Tokenizer

WRITTEN = ["</s>", "<unk>", "<pad>", ">>fra<<", ">>deu<<", ">>", "<<", "日", "▁", "  ", "½", "ﬁ"]
ANY_TEXT = st.lists(st.text() | st.sampled_from([*WRITTEN, *LETTERS, *" ".join(hub_folders.TEXTS[:3]).split()])).map(
    " ".join
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hub_folders.marian(tmp_path_factory.mktemp("marian"))


@pytest.fixture(scope="module")
def ours(folder: Path) -> Tokenizer:
    return load_foreign(folder)


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Any:
    return hub_folders.theirs(folder)


@settings(max_examples=40)
@given(text=ANY_TEXT)
@example(text="")
@example(text=">>fra<< the animal")
@example(text=">>fra<<>>fra<<")
@example(text="the</s> rue <pad>>>fra<< x")
def test_both_sides_are_cut_as_transformers_does(ours: Tokenizer, theirs: Any, text: str):
    source, target = theirs(text)["input_ids"], theirs(text_target=text)["input_ids"]
    assert ours.encode_for(text, "encoder_decoder") == ours.encode(text, eos=True) == source
    assert ours.target.encode_for(text, "encoder_decoder") == ours.target.encode(text, eos=True) == target
    assert ours.encode_batch([text, "a"]) == [ours.encode(text), ours.encode("a")]
    for ids in (source, target):
        assert ours.decode(ids) == ours.target.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


@settings(max_examples=25)
@given(text=ANY_TEXT)
def test_every_token_has_a_piece_and_a_label(ours: Tokenizer, text: str):
    for side in (ours, ours.target):
        ids, pieces, labels = side.encode(text), side.pieces(text), side.labels_for(text, "encoder_decoder")
        assert len(ids) == len(pieces) == len(side.tokens(ids)) == len(labels) - 1
        assert "".join("".join(pieces).split()) == "".join(text.split()) or not text.isascii()
        assert not any(map(disturbs, labels))
        assert "\ufffd" in text or not any("\ufffd" in label for label in labels)


def test_the_two_sides_are_two(ours: Tokenizer):
    text = "the animal"
    assert ours.encode(text) != ours.target.encode(text)
    assert ours.target.target.encode(text) == ours.target.encode(text)
    special = [i for i in (ours.pad_id, ours.eos_id, ours.unk_id) if i is not None]
    assert ours.labels(special) == ["<pad>", "</s>", "<unk>"]
    assert (ours.kind, ours.bos_id, ours.mask_id) == ("foreign", None, None)
    assert ours.labels_for(">>fra<< z日", "encoder_decoder")[0] == ">>fra<<"
    assert ours.unknown_words("the Ж the Ж Ω q") == ["Ж", "Ω", "q"]
    assert {"<unk> Ж", "<unk> Ω", "</s>"} <= set(ours.labels_for("the Ж the Ω", "encoder_decoder"))
    assert ours.labels([99999]) == ours.tokens([99999]) == ["<no.99999>"]  # the model's matrices may be larger
    assert ours.decode([99999]) == ""
    with pytest.raises(TextError, match="token id -1 is not in the vocabulary"):
        ours.decode([0, -1])


def test_save_and_load(ours: Tokenizer, tmp_path: Path):
    ours.save(tmp_path / "tokenizer.json")
    loaded = load_tokenizer(tmp_path / "tokenizer.json")
    assert loaded.vocab_size == ours.vocab_size
    for text in [*hub_folders.TEXTS[:4], ">>fra<< Ж</s>"]:
        assert loaded.encode(text) == ours.encode(text)
        assert loaded.target.encode(text) == ours.target.encode(text)
        assert loaded.decode(ours.encode(text)) == ours.decode(ours.encode(text))
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()
    values = json.loads((tmp_path / "again.json").read_text("utf-8"))
    (tmp_path / "again.json").write_text(json.dumps(values | {"models": {}}))
    assert "damaged" in refusal(load_tokenizer, tmp_path / "again.json")


@pytest.mark.parametrize("name", ["vocab.json", "source.spm", "target.spm", "tokenizer_config.json"])
def test_damaged_folders(folder: Path, tmp_path: Path, name: str):
    damaged = shutil.copytree(folder, tmp_path / "folder")
    whole = (damaged / name).read_bytes()
    for content in (b"", b"[]", b'{"a": 0, "b": 1}' if name == "vocab.json" else b"{", whole[: len(whole) // 2]):
        (damaged / name).write_bytes(content)
        assert "damaged" in refusal(load_foreign, damaged)
    shutil.copytree(folder, damaged, dirs_exist_ok=True)
    hub_folders.write(damaged, tokenizer_config={"separate_vocabs": True})
    assert "a separate vocabulary per language" in refusal(load_foreign, damaged)
