"""Tokenizers of many languages: M2M100's, and those of mBART and NLLB, whose sources begin with a language."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.text import hub_folders
from transformer_core.errors import CheckpointError
from transformer_core.text.load import load_foreign, load_tokenizer

TEXTS = [*hub_folders.TEXTS[:3], "", "  the   rue ", "<unk> x</s>日"]


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one sentencepiece model and its vocabulary, as M2M100 has them."""
    return hub_folders.m2m100(tmp_path_factory.mktemp("m2m100"))


def test_m2m100_is_cut_as_transformers_does(pieces: Path, tmp_path: Path):
    from transformers import M2M100Tokenizer

    theirs: Any = M2M100Tokenizer.from_pretrained(pieces, src_lang="de", tgt_lang="fr")
    theirs.save_pretrained(tmp_path)  # with its source language
    loaded = load_foreign(tmp_path)
    loaded.save(tmp_path / "ours.json")
    for ours in (loaded, load_tokenizer(tmp_path / "ours.json")):
        for text in TEXTS:
            ids = theirs(text).input_ids
            assert ours.encode_for(text, "encoder_decoder") == ids
            assert ours.decode(ids) == theirs.decode(ids[1:], skip_special_tokens=True)
            target = theirs(text_target=text).input_ids
            assert ours.target.encode_for(f"__fr__{text}", "encoder_decoder") == target
        assert ours.labels_for("rue", "encoder_decoder")[0] == "__de__"
        assert ours.tokens(ours.encode_for("__en__ the", "encoder_decoder"))[0] == "__en__"  # typed
    (tmp_path / "vocab.json").write_text(json.dumps({"<s>": 0}))
    with pytest.raises(CheckpointError, match=r"damaged \(vocab.json or sentencepiece.bpe.model\)"):
        load_foreign(tmp_path)


def test_a_typed_language_takes_the_place_of_the_usual_one(pieces: Path, tmp_path: Path):
    """In a source as in a target, of tokenizers with a template."""
    (tmp_path / "sentencepiece.bpe.model").write_bytes((pieces / "sentencepiece.bpe.model").read_bytes())
    settings = {"tokenizer_class": "MBart50Tokenizer", "src_lang": "en_XX", "tgt_lang": "fr_XX"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mbart"}))
    ours, theirs = load_foreign(tmp_path), hub_folders.theirs(tmp_path)
    for text in TEXTS:
        assert ours.encode_for(text, "encoder_decoder") == theirs(text).input_ids
    german = ours.encode_for("de_DE the rue", "encoder_decoder")
    assert ours.tokens(german)[0] == "de_DE" and german[1:] == ours.encode_for("the rue", "encoder_decoder")[1:]
