"""Folders whose tokenizer cannot be read are refused with a sentence, and none of their code is run."""

import json
import shutil
from pathlib import Path

import pytest

from tests.german import in_german
from tests.text import hub_folders
from tests.text.hub_folders import Pair
from tests.text.refusals import refusal
from transformer_core.errors import CheckpointError
from transformer_core.text.load import has_known_tokenizer, load_foreign, load_tokenizer


def test_folders_without_a_tokenizer(tmp_path: Path, folders: dict[str, Path]):
    assert refusal(load_foreign, tmp_path / "none").startswith("there is no folder")
    assert "has no tokenizer (tokenizer.json" in refusal(load_foreign, tmp_path)
    with pytest.raises(CheckpointError) as caught:
        load_foreign(tmp_path)
    assert "hat keinen Tokenizer" in in_german(caught.value) and " with " not in in_german(caught.value)
    lone = tmp_path / "lone"
    lone.mkdir()
    shutil.copy(folders["gpt2"] / "vocab.json", lone)
    assert "vocab.json with merges.txt" in refusal(load_foreign, lone)


@pytest.mark.parametrize(
    ("family", "name"),
    [
        *(("gpt2", "vocab.json"), ("t5", "spiece.model"), ("llama", "tokenizer.model")),
        *(("bert.json", "tokenizer.json"), ("bert.json", "tokenizer_config.json")),
    ],
)
def test_damaged_folders(folders: dict[str, Path], tmp_path: Path, family: str, name: str):
    folder = shutil.copytree(folders[family], tmp_path / "folder")
    whole = (folder / name).read_bytes()
    for content in (b"", b"[]", whole[: len(whole) // 2]):
        (folder / name).write_bytes(content)
        assert "damaged" in refusal(load_foreign, folder)


def test_a_lone_tokenizer_model_is_read_as_that_of_llama(folders: dict[str, Path], tmp_path: Path):
    shutil.copy(folders["llama"] / "tokenizer.model", tmp_path)
    expected, actual = load_foreign(folders["llama"]), load_foreign(tmp_path)
    for text in ("", "Once upon a time", "  two spaces, and über 🙂"):
        assert actual.encode_for(text, "decoder_only") == expected.encode_for(text, "decoder_only")
    assert (actual.bos_id, actual.eos_id) == (expected.bos_id, expected.eos_id) == (1, 2)
    assert has_known_tokenizer(tmp_path)
    (tmp_path / "tokenizer.model").write_text("IQ== 0\nIg== 1\n")  # of tiktoken
    assert not has_known_tokenizer(tmp_path)


def test_no_code_of_a_folder_is_run(tmp_path: Path):
    folder = hub_folders.gpt2(tmp_path / "gpt2")
    (folder / "config.json").unlink()
    settings = {"auto_map": {"AutoTokenizer": ["own.Own", None]}, "tokenizer_class": "Own"}
    hub_folders.write(folder, config={"auto_map": {"AutoConfig": "own.Own"}}, tokenizer_config=settings)
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert "of an unsupported type" in refusal(load_foreign, folder)
    assert not (tmp_path / "ran").exists()


def test_a_saved_file_that_was_changed(pairs: dict[str, Pair], tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    pairs["bert.json"][0].save(path)
    values = json.loads(path.read_text("utf-8"))
    about = values["headlight"]
    for changed in (
        values | {"headlight": {"kind": "foreign"}},
        values | {"headlight": about | {"special": about["special"] | {"eos": 10**6}}},
        values | {"model": None},
    ):
        path.write_text(json.dumps(changed), encoding="utf-8")
        assert "damaged" in refusal(load_tokenizer, path)
