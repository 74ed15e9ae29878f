"""A model as a zip file: what is handed out loads again, and a file that comes from anywhere is taken in with care."""

import io
import json
import shutil
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save

import transformer_core as tc
from tests.german import in_german
from transformer_core.checkpoints import archive, archive_files
from transformer_core.errors import CheckpointError

TEXTS = ["the cat sees the dog", "a dog"]
CARD = {"title": "Small", "examples": TEXTS, "parameters": 1}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of ours; not to be written to."""
    folder = tmp_path_factory.mktemp("ours") / "small"
    tokenizer = tc.train_tokenizer(TEXTS, kind="word")
    sizes: dict[str, Any] = {"d_model": 12, "d_ff": 20, "n_heads": 3, "n_encoder_layers": 1, "n_decoder_layers": 2}
    config = tc.ModelConfig(vocab_size=tokenizer.vocab_size, max_seq_len=16, **sizes)
    tc.save(folder, tc.build(config, seed=3), tokenizer, CARD)
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def zipped(files: Mapping[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    """A zip file with these files by their names in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return buffer


def refusal(file: io.BytesIO, place: Path, *, say: Callable[[CheckpointError], str] = str, **options: Any) -> str:
    """The sentence with which a file is refused; nothing of it is left."""
    before = sorted(place.parent.rglob("*"))
    with pytest.raises(CheckpointError) as caught:
        archive.unpack(file, place, **options)
    assert sorted(place.parent.rglob("*")) == before
    sentence = say(caught.value)
    assert "\n" not in sentence
    assert str(place.parent) not in sentence
    assert ".new" not in sentence
    return sentence


def same(one: Path, other: Path) -> bool:
    src, tgt = torch.tensor([[5, 6, 4]]), torch.tensor([[1, 5]])
    return torch.equal(tc.load(one)[0](src, tgt), tc.load(other)[0](src, tgt))


def packed_bytes(folder: Path) -> bytes:
    """The folder as a zip file."""
    file = io.BytesIO(b"what an earlier try left behind" * 10_000)
    archive.pack(folder, file)
    return file.getvalue()


def test_what_is_handed_out_loads_once_it_is_unpacked(ours: Path, tmp_path: Path):
    with zipfile.ZipFile(io.BytesIO(packed_bytes(ours))) as packed:
        assert packed.testzip() is None
        packed.extractall(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["small"]
    assert files_of(tmp_path / "small") == files_of(ours)
    assert same(tmp_path / "small", ours)
    archive.unpack(io.BytesIO(packed_bytes(ours)), tmp_path / "again")
    assert files_of(tmp_path / "again").keys() == files_of(ours).keys()
    assert same(tmp_path / "again", ours)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "small"]


def test_only_what_belongs_to_a_model_is_packed(ours: Path, tmp_path: Path):
    folder = shutil.copytree(ours, tmp_path / "small")
    (folder / "secret.env").write_text("x")
    (folder / "film.json").mkdir()
    with zipfile.ZipFile(io.BytesIO(packed_bytes(folder))) as packed:
        assert sorted(packed.namelist()) == sorted(f"small/{name}" for name in files_of(ours))
    with pytest.raises(CheckpointError, match=r"no longer a model in .*gone"):
        archive.pack(tmp_path / "gone", io.BytesIO())


@pytest.mark.parametrize("inside", ["", "a/b/model/"])
def test_a_model_may_lie_in_a_folder_among_other_things(inside: str, ours: Path, tmp_path: Path):
    files = {inside + name: content for name, content in files_of(ours).items()}
    files |= {"__MACOSX/x/._config.json": b"?", f"{inside}.DS_Store": b"?", f"{inside}README.md": b"#"}
    files |= {f"{inside}film/7/config.json": b"{}", f"{inside}code.py": b"1/0", f"{inside}x.bin": b"\x80"}
    archive.unpack(zipped(files), tmp_path / "new")
    assert files_of(tmp_path / "new").keys() == files_of(ours).keys()
    assert same(tmp_path / "new", ours)


def test_errors_about_an_unsupported_model_name_no_temporary_folder(tmp_path: Path):
    def otherwise(folder: Path, *_: Any) -> dict[str, Any]:
        raise CheckpointError("nor: {error}", error=CheckpointError("{path} is damaged", path=folder / "x.json"))

    files = {"config.json": b'{"model_type": "other"}', "model.safetensors": save({"a": torch.zeros(1)})}
    with pytest.raises(CheckpointError, match=r"^nor: x\.json is damaged$"):
        archive.unpack(zipped(files), tmp_path / "new", otherwise=otherwise)


def test_what_is_left_out_of_a_model(ours: Path, tmp_path: Path):
    """A pickle beside safetensors is not unpacked, and a card is made."""
    files = {name: content for name, content in files_of(ours).items() if name != "card.json"}
    files |= {"pytorch_model.bin": b"\x80\x04."}
    archive.unpack(zipped(files), tmp_path / "bare")
    assert "pytorch_model.bin" not in files_of(tmp_path / "bare")
    card = tc.read_card(tmp_path / "bare")
    assert (card["title"], card["kind"]) == ("bare", "encoder-decoder")
    del files["model.safetensors"]
    assert "has no model.safetensors" in refusal(zipped(files), tmp_path / "other")


@pytest.mark.parametrize(
    "name", ["small/../../evil.json", "/etc/evil.json", "..\\evil.json", "C:/evil.json", "a/../b.json"]
)
def test_ways_out_of_the_folder(name: str, ours: Path, tmp_path: Path):
    place = tmp_path / "deep" / "checkpoints" / "new"
    place.parent.mkdir(parents=True)
    assert "a path outside its folder" in refusal(zipped(files_of(ours) | {name: b"{}"}), place)
    assert not list(tmp_path.rglob("evil*"))


def test_links(ours: Path, tmp_path: Path):
    file = zipped({name: content for name, content in files_of(ours).items() if name != "card.json"})
    link = zipfile.ZipInfo("card.json")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(file, "a") as packed:
        packed.writestr(link, "/etc/passwd")
    assert "card.json is a symbolic link" in refusal(file, tmp_path / "new")


def test_a_file_that_is_larger_than_it_says(ours: Path, tmp_path: Path):
    """The sizes are in the list at the end, which anybody can write."""
    content = b"[" + b" " * 10_000_000 + b"]"
    data = zipped(files_of(ours) | {"vocab.json": content}).getvalue()
    assert data.count(struct.pack("<I", len(content))) == 2
    lying = data.replace(struct.pack("<I", len(content)), struct.pack("<I", 100))
    assert "vocab.json" in refusal(io.BytesIO(lying), tmp_path / "new")


def test_as_large_and_as_many_as_may_be(ours: Path, tmp_path: Path):
    files = files_of(ours)
    files |= {f"{i}.json": b"{}" for i in range(archive_files.MAX_FILES - len(files))}
    n_bytes = sum(map(len, files.values()))
    assert "more than the" in refusal(zipped(files), tmp_path / "new", max_bytes=n_bytes - 1)
    archive.unpack(zipped(files), tmp_path / "new", max_bytes=n_bytes)
    assert (tmp_path / "new").is_dir()
    assert "there is a folder 'new' already" in refusal(zipped(files), tmp_path / "new")
    files["card.json"] = b'{"title": "' + b"x" * 2_000_000 + b'"}'
    assert "card.json takes 2 MiB, too much" in refusal(zipped(files), tmp_path / "other")


def test_too_many_files(ours: Path, tmp_path: Path):
    some = {f"{i}.json": b"" for i in range(archive_files.MAX_FILES - len(files_of(ours)) + 1)}
    assert "but a model has at most 60" in refusal(zipped(files_of(ours) | some), tmp_path / "new")
    endless = {f"{i:0100d}.txt": b"" for i in range(8_000)}
    assert "far more files" in refusal(zipped(files_of(ours) | endless), tmp_path / "new")


def test_no_ordinary_zip_file(ours: Path, tmp_path: Path):
    assert "create an ordinary zip file" in refusal(zipped(files_of(ours), zipfile.ZIP_LZMA), tmp_path / "new")
    assert "config.json twice" in refusal(zipped(files_of(ours) | {"CONFIG.json": b"{}"}), tmp_path / "new")
    for content in (b"", b"hello", b"PK\x05\x06" + bytes(18), b"PK\x03\x04" * 100):
        assert refusal(io.BytesIO(content), tmp_path / "new").startswith("this ")
    assert refusal(io.BytesIO(b"PK"), tmp_path / "new", say=in_german).startswith("diese Zip-Datei lässt sich nicht")


def test_a_locked_file(ours: Path, tmp_path: Path):
    data = bytearray(zipped(files_of(ours)).getvalue())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(signature, at + 4)
    assert "password-protected" in refusal(io.BytesIO(bytes(data)), tmp_path / "new")


def test_a_zip_file_that_is_cut_off_or_damaged(ours: Path, tmp_path: Path):
    data = zipped(files_of(ours), zipfile.ZIP_STORED).getvalue()
    assert "zip file cannot be read" in refusal(io.BytesIO(data[: len(data) // 2]), tmp_path / "new")
    at = data.index(b"__metadata__" if b"__metadata__" in data else b"decoder.")
    flipped = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    assert "zip file cannot be read" in refusal(io.BytesIO(flipped), tmp_path / "new")


def test_no_model(tmp_path: Path, ours: Path):
    assert "neither config.json nor weights" in refusal(zipped({"photo.json": b"{}"}), tmp_path / "new")
    assert "does not contain weights (.safetensors)" in refusal(zipped({"config.json": b"{}"}), tmp_path / "new")
    for name, sentence in (
        ("config.json", "config.json is not valid JSON"),
        ("model.safetensors", "model.safetensors is damaged or truncated"),
        ("tokenizer.json", "tokenizer.json is damaged"),
        ("card.json", "card.json is not valid JSON"),
    ):
        content = files_of(ours)[name]
        files = files_of(ours) | {name: content[: len(content) // 2]}
        assert sentence in refusal(zipped(files), tmp_path / "new")
    without = {name: content for name, content in files_of(ours).items() if name != "tokenizer.json"}
    assert "this model has no tokenizer.json" in refusal(zipped(without), tmp_path / "new")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n_decoder_layers": 400}, "specifies 401 layers"),
        ({"max_seq_len": 10**9}, "table of 1,000,000,000 positions"),
        ({"d_model": 3 * 10**5, "n_heads": 1, "n_kv_heads": 1}, "requires"),
        ({"vocab_size": 10**9}, "tokenizer has"),
        ({"d_modell": 12}, "does not describe a model"),
    ],
)
def test_a_configuration_without_bounds(changes: dict[str, Any], sentence: str, ours: Path, tmp_path: Path):
    config = json.loads(files_of(ours)["config.json"]) | changes
    files = files_of(ours) | {"config.json": json.dumps(config).encode()}
    assert sentence in refusal(zipped(files), tmp_path / "new")


def test_a_foreign_configuration_without_bounds(folder_of: Callable[[str], Path], tmp_path: Path):
    files = files_of(folder_of("gpt2"))
    files["config.json"] = json.dumps(json.loads(files["config.json"]) | {"n_layer": 400}).encode()
    assert "specifies 400 layers" in refusal(zipped(files), tmp_path / "new")


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.txt", "source.spm", "tokenizer.model", "vocab.json"])
def test_a_file_that_is_read_whole_has_a_limit(name: str, ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    content = b"0" * 20_000  # a thousandth when packed
    monkeypatch.setattr(archive_files, "MAX_READ_WHOLE", len(content) - 1)
    files = {"config.json": (ours / "config.json").read_bytes(), name: content}
    assert f"{name} takes 20 KiB, too much" in refusal(zipped(files), tmp_path / "new")
