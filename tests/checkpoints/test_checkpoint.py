"""A model comes back from its folder as it went in, and a damaged folder is refused in one calm sentence."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.text.refusals import refusal
from transformer_core.checkpoints import checkpoint
from transformer_core.checkpoints.checkpoint import read_card, read_checkpoint, reading_folder, remove, save
from transformer_core.checkpoints.load import load
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.load import load_tokenizer
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer

ROOT = Path(__file__).resolve().parents[2]
TOKENIZER = train_tokenizer(["abcdefg"], kind="character")
CARD = {"title": "été", "examples": ["a", "b"], "metrics": {"exact_match": 0.5}, "trained": None}


def small_config(**changes: Any) -> ModelConfig:
    sizes = {"d_model": 8, "d_ff": 12, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 2, "max_seq_len": 10}
    return ModelConfig(**({"vocab_size": TOKENIZER.vocab_size} | sizes | changes))


def logits(model: Transformer) -> Tensor:
    with torch.inference_mode():
        return model(torch.tensor([[4, 5, 6, 2], [7, 2, 0, 0]]), torch.tensor([[1, 4, 5], [1, 6, 0]]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "model", build(small_config(), seed=1), TOKENIZER, CARD)
    return tmp_path / "model"


@pytest.mark.parametrize(
    ("dtype", "changes"),
    [
        (torch.float32, {}),
        (torch.float64, {"tie_embeddings": "target", "positions": "learned"}),
        (torch.bfloat16, {"tie_embeddings": "none", "norm_position": "pre", "attention_bias": "none"}),
    ],
)
def test_a_model_comes_back_bit_by_bit(changes: dict[str, Any], dtype: torch.dtype, tmp_path: Path):
    model = build(small_config(**changes), seed=3).to(dtype).eval()
    save(tmp_path / "model", model, TOKENIZER, CARD)
    loaded, tokenizer = load(str(tmp_path / "model"))
    assert not loaded.training
    assert loaded.config == model.config
    assert logits(loaded).dtype == dtype
    assert torch.equal(logits(loaded), logits(model))
    assert all(parameter.dtype == dtype for parameter in loaded.parameters())
    assert tokenizer.encode("gab") == TOKENIZER.encode("gab")


@pytest.mark.parametrize("part", ["config.json", "model.safetensors", "tokenizer.json", "card.json"])
def test_a_part_that_is_missing_cut_or_nonsense(folder: Path, part: str):
    read: Callable[[Path], Any] = read_card if part == "card.json" else load
    whole = (folder / part).read_bytes()
    for content in (b"", whole[:5], whole[: len(whole) // 2], whole[:-3], b"\xff" * 99, b"null", b"[]", b"[" * 99_999):
        (folder / part).write_bytes(content)
        assert part in refusal(read, folder)
    (folder / part).unlink()
    assert f"has no {part}" in refusal(read, folder)
    (folder / part).mkdir()
    assert f"has no {part}" in refusal(read, folder)


def test_places_without_a_checkpoint(tmp_path: Path):
    (tmp_path / "file").touch()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("precious")
    for read in (lambda folder: reading_folder(folder, read_checkpoint), read_card):
        for name, message in (("nowhere", "there is no folder"), ("file", "is not a folder")):
            assert message in refusal(read, tmp_path / name)
        for name in ("file/inside", "long" * 100):
            assert "cannot be read" in refusal(read, tmp_path / name)
        assert "not a complete checkpoint" in refusal(read, tmp_path / "thesis")
    for place in (tmp_path / "thesis", tmp_path / "thesis" / "chapter"):
        with pytest.raises(CheckpointError, match="are not a checkpoint"):
            save(place, build(small_config()), TOKENIZER)
    assert (tmp_path / "thesis" / "chapter").read_text() == "precious"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_head": 2}, "did you mean n_heads?"),
        ({"d_model": 7, "d_head": 0}, "must be divisible"),
        ({"dropout": "much"}, "does not describe a model"),
        ({"d_ff": 16}, "'encoder.blocks.0.mlp.up.weight' is (12, 8), but config.json requires (16, 8)"),
        ({"n_encoder_layers": 2}, "lacks the weight 'encoder.blocks.1."),
        ({"n_decoder_layers": 1}, "has an unknown weight 'decoder.blocks.1."),
        ({"positions": "learned"}, "lacks the weight 'decoder.pos_embed.table'"),
        ({"vocab_size": 99}, "the tokenizer has 11 tokens and the model 99"),
    ],
)
def test_a_configuration_that_is_not_that_of_the_weights(folder: Path, changes: dict[str, Any], message: str):
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(values | changes))
    assert message in refusal(load, folder)


def test_weights_of_other_types_are_refused(folder: Path):
    weights = load_file(folder / "model.safetensors")
    save_file({name: weight.long() for name, weight in weights.items()}, folder / "model.safetensors")
    assert "contains torch.int64" in refusal(load, folder)
    save_file(weights | {"encoder.embed.weight": torch.zeros(11, 8).double()}, folder / "model.safetensors")
    assert "float32, torch.float64" in refusal(load, folder)


def test_a_save_that_fails_leaves_the_older_one(folder: Path):
    before = logits(load(folder)[0])
    with pytest.raises(TypeError):
        save(folder, build(small_config(), seed=2), TOKENIZER, {"metrics": object()})
    with pytest.raises(CheckpointError, match="the tokenizer has 6 tokens and the model 11"):
        save(folder, build(small_config(), seed=2), train_tokenizer(["ab"], kind="character"))
    assert torch.equal(logits(load(folder)[0]), before)
    assert read_card(folder) == CARD
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    parts = ["card.json", "config.json", "model.safetensors", "tokenizer.json"]
    assert sorted(path.name for path in folder.iterdir()) == parts
    save(folder, build(small_config()), TOKENIZER)
    assert read_card(folder) == {}  # a new model has no old card


FULL_DISK = """
import resource, sys
sys.dont_write_bytecode = True  # Python keeps what it compiles even where half of it could be written
from transformer_core.checkpoints.checkpoint import save
from transformer_core.checkpoints.load import load
model, tokenizer = load(sys.argv[1])
for n_bytes in map(int, sys.argv[2:]):  # a file can be no longer
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))
    try:
        save(sys.argv[1], model, tokenizer, {"title": "new"})
    except OSError as error:
        print("File too large" in error.strerror)
"""


@pytest.mark.faults
def test_a_full_disk_leaves_the_older_one(folder: Path):
    sizes = sorted(path.stat().st_size for path in folder.iterdir())
    assert sizes[-1] == (folder / "model.safetensors").stat().st_size
    limits = (10, *sizes[:-1], sizes[-1] - 1)  # room for nothing, for one file more each time, and for nearly all
    command = [sys.executable, "-c", FULL_DISK, str(folder), *map(str, limits)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=300)
    assert answer.stdout.split() == ["True"] * len(limits)
    load(folder)
    assert read_card(folder) == CARD
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_process_killed_between_the_two_renames(folder: Path):
    """The name is gone for an instant, or for good; `load` finds the former checkpoint and touches nothing."""
    before = logits(load(folder)[0])
    folder.rename(folder.with_name(".model.former"))
    assert torch.equal(logits(load(folder)[0]), before)
    assert read_card(folder) == CARD
    assert not folder.exists()
    save(folder, build(small_config()), TOKENIZER, {"title": "new"})
    assert read_card(folder) == {"title": "new"}
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_model_is_never_put_together_from_two_checkpoints(folder: Path, monkeypatch: pytest.MonkeyPatch):
    other, turned = build(small_config(), seed=2), train_tokenizer(["gggfffeeddcba"], kind="character")
    read = load_tokenizer

    def replace_and_read(path: Path) -> Tokenizer:  # the weights have been read by now
        monkeypatch.setattr(checkpoint, "load_tokenizer", read)
        save(folder, other, turned)
        return read(path)

    monkeypatch.setattr(checkpoint, "load_tokenizer", replace_and_read)
    model, tokenizer = load(folder)
    assert torch.equal(logits(model), logits(other.eval()))
    assert tokenizer.encode("gfed") == turned.encode("gfed") != TOKENIZER.encode("gfed")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so(folder: Path):
    for name in ("tokenizer.json", "model.safetensors", "config.json"):
        (folder / name).chmod(0)
        with pytest.raises(CheckpointError, match=r"cannot be read \(Permission denied\)$"):
            load(folder)


@pytest.mark.parametrize(("tying", "n_matrices"), [("three_way", 1), ("target", 2), ("none", 3)])
def test_tied_weights_are_stored_once_and_tied_again(tying: str, n_matrices: int, tmp_path: Path):
    model = build(small_config(tie_embeddings=tying))
    save(tmp_path / "model", model, TOKENIZER)
    stored = load_file(tmp_path / "model" / "model.safetensors")
    assert sum(tuple(weight.shape) == (TOKENIZER.vocab_size, 8) for weight in stored.values()) == n_matrices
    loaded, _ = load(tmp_path / "model")
    assert loaded.encoder is not None
    assert loaded.decoder is not None
    matrices = (loaded.encoder.embed.weight, loaded.decoder.embed.weight, loaded.unembed.weight)
    assert len({id(matrix) for matrix in matrices}) == len({matrix.data_ptr() for matrix in matrices}) == n_matrices
    assert sum(p.numel() for p in loaded.parameters()) == sum(p.numel() for p in model.parameters())


def a_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


def test_a_model_goes_and_nothing_else_does(tmp_path: Path):
    folder = a_model(tmp_path / "small")
    remove(folder)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "thesis").mkdir()
    for place in (folder, tmp_path / "thesis"):
        with pytest.raises(CheckpointError, match=r"no model in .*, so nothing was deleted"):
            remove(place)
    assert (tmp_path / "thesis").is_dir()


def test_of_a_link_only_the_link_goes(tmp_path: Path):
    away = a_model(tmp_path / "away")
    (tmp_path / "thesis.txt").write_text("mine")
    (tmp_path / "link").symlink_to(away)
    remove(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()
    assert (away / "config.json").read_text() == "{}"
    (away / "deep").mkdir()
    (away / "deep" / "out").symlink_to(tmp_path)
    (away / "thesis.txt").symlink_to(tmp_path / "thesis.txt")
    remove(away)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
