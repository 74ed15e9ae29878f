"""What was saved loads again; what cannot be read is refused calmly."""

import json
from pathlib import Path

import pytest

from tests.text.refusals import refusal
from tests.text.test_tokenizer import KINDS, TOKENIZERS, WITH_MASK
from transformer_core.config import TokenizerKind
from transformer_core.text.load import load_tokenizer
from transformer_core.text.tokenizer import Tokenizer


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tokenizers", [TOKENIZERS, WITH_MASK], ids=["without mask", "with mask"])
def test_save_and_load(kind: TokenizerKind, tokenizers: dict[TokenizerKind, Tokenizer], tmp_path: Path):
    tokenizers[kind].save(tmp_path / "tokenizer.json")
    loaded = load_tokenizer(tmp_path / "tokenizer.json")
    text = "L’animal didn't <eos> 😀 ____"
    assert loaded.kind == kind
    known = f"vocab_size={loaded.vocab_size}, pad_id=0, bos_id=1, eos_id=2, unk_id=3"
    assert repr(loaded) == f"OwnTokenizer(kind='{kind}', {known}{'' if loaded.mask_id is None else ', mask_id=4'})"
    assert loaded.mask_id == tokenizers[kind].mask_id
    assert loaded.encode_for(text, "encoder_only") == tokenizers[kind].encode_for(text, "encoder_only")
    assert loaded.decode(loaded.encode(text)) == tokenizers[kind].decode(loaded.encode(text))
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"headlight": 3}', b'{"headlight": {"kind": "word"}}'),
    ],
)
def test_a_damaged_file(content: bytes, tmp_path: Path):
    (tmp_path / "tokenizer.json").write_bytes(content)
    assert "damaged" in refusal(load_tokenizer, tmp_path / "tokenizer.json")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_was_changed(kind: TokenizerKind, tmp_path: Path):
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
        assert "damaged" in refusal(load_tokenizer, path)


def test_what_is_no_tokenizer_of_ours(tmp_path: Path):
    assert refusal(load_tokenizer, tmp_path / "tokenizer.json").startswith("there is no tokenizer at")
    assert refusal(load_tokenizer, tmp_path).endswith("cannot be read (Is a directory)")


def test_files_of_before_the_mask_load(tmp_path: Path):
    shipped = Path(__file__).resolve().parents[2] / "checkpoints" / "en-fr" / "tokenizer.json"
    tokenizer = load_tokenizer(shipped)
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id) == (0, 1, 2, 3)
    assert tokenizer.mask_id is None
    tokenizer.save(tmp_path / "tokenizer.json")
    assert json.loads((tmp_path / "tokenizer.json").read_text("utf-8")) == json.loads(shipped.read_text("utf-8"))
