"""A model loads from whatever it lies in, and a folder that cannot be read is refused in one calm sentence."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

import transformer_core as tc
from tests.checkpoints import foreign
from tests.checkpoints.test_checkpoint import Trap
from transformer_core.checkpoints.checkpoint import refuse_to_replace
from transformer_core.errors import CheckpointError, ConfigError, Message

FolderOf = Callable[[str], Path]


def add_tokenizer(folder: Path, n_tokens: int = foreign.VOCAB_SIZE) -> Path:
    """Put a tokenizer of words w0, w1, ... beside a model."""
    backend = Backend(models.WordLevel({f"w{i}": i for i in range(n_tokens)}, unk_token="w3"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def folder(folder_of: FolderOf, tmp_path: Path) -> Path:
    """A Hugging Face folder with a small Llama, whose tokenizer knows fewer tokens than the model."""
    shutil.copytree(folder_of("llama"), tmp_path / "llama")
    return add_tokenizer(tmp_path / "llama", n_tokens=foreign.VOCAB_SIZE - 5)


def batch(name: str = "llama") -> tuple[torch.Tensor, ...]:
    return foreign.batch(name)


def dtypes(model: tc.Transformer) -> set[torch.dtype]:
    return {parameter.dtype for parameter in model.parameters()}


def refusal(folder: Path, **options: Any) -> str:
    """The sentence with which a folder is refused."""
    with pytest.raises(CheckpointError) as caught:
        tc.load(folder, **options)
    sentence = str(caught.value)
    assert str(folder) in sentence
    assert "Error(" not in sentence
    assert "\n" not in sentence
    return sentence


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "bert", "t5-v1.1"])
def test_a_hugging_face_folder(name: str, folder_of: FolderOf, tmp_path: Path):
    shutil.copytree(folder_of(name), tmp_path / name)
    model, tokenizer = tc.load(add_tokenizer(tmp_path / name))
    with torch.inference_mode():
        assert torch.equal(model(*batch(name)), foreign.ours(tmp_path / name)(*batch(name)))
        inputs = dict(zip(("input_ids", "decoder_input_ids"), batch(name), strict=False))
        masks = [foreign.is_real(tokens).long() for tokens in batch(name)]
        masks_by_name = dict(zip(("attention_mask", "decoder_attention_mask"), masks, strict=False))
        theirs = foreign.theirs(name, tmp_path / name)(**inputs, **masks_by_name).logits
    written = foreign.is_real(batch(name)[-1])
    torch.testing.assert_close(model(*batch(name))[written], theirs[written], atol=1e-4, rtol=0)
    assert not model.training
    assert tokenizer.kind == "foreign"
    assert tokenizer.decode(tokenizer.encode("w5 w7")) == "w5 w7"


def test_a_text_may_be_a_folder_a_path_must_be(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder.parent)
    for source in ("llama", "./llama", str(folder), Path("llama"), folder):
        assert torch.equal(tc.load(source)[0](*batch()), tc.load(folder)[0](*batch()))
    with pytest.raises(CheckpointError, match="there is no folder 'lama'; give the path"):
        tc.load(Path("lama"))
    with pytest.raises(CheckpointError, match="there is no folder 'lama'; give the path"):
        tc.load("./lama")


def test_parts_named_by_an_index(folder: Path):
    whole = tc.load(folder)[0](*batch())
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = {key: f"model-0000{1 + i % 3}-of-00003.safetensors" for i, key in enumerate(weights)}
    for name in set(names.values()):
        save_file({key: weight for key, weight in weights.items() if names[key] == name}, folder / name)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": names}))
    assert torch.equal(tc.load(folder)[0](*batch()), whole)

    save_file({key: weights[key] for key in [*weights][:2]}, folder / "model-00003-of-00003.safetensors")
    assert "which is also in model-0000" in refusal(folder)  # a key that is there twice
    (folder / "model-00002-of-00003.safetensors").unlink()
    assert "lacks model-00002-of-00003.safetensors, one of 3 weight files" in refusal(folder)
    for content in ("", "[]", "{}", '{"weight_map": {}}', '{"weight_map": {"a": 5}}', '{"weight_map": {"a": "../b"}}'):
        index.write_text(content)
        assert "does not list the weight files" in refusal(folder)


def test_weights_that_are_cut_off_or_nonsense(folder: Path):
    whole = (folder / "model.safetensors").read_bytes()
    for content in (b"", whole[:5], whole[: len(whole) // 2], whole[:-3], b"\xff" * 99, b"[" * 9_999, whole + b"0"):
        (folder / "model.safetensors").write_bytes(content)
        assert "model.safetensors is damaged or truncated" in refusal(folder)


def test_a_configuration_that_is_missing_cut_off_or_nonsense(folder: Path):
    whole = (folder / "config.json").read_bytes()
    for content in (b"", whole[:50], b"\xff" * 9, b"null", b"[]", b"[" * 99_999, b"{}"):
        (folder / "config.json").write_bytes(content)
        assert "config.json" in refusal(folder)
    (folder / "config.json").unlink()
    assert "has no config.json" in refusal(folder)


def test_a_family_that_is_not_known(folder: Path):
    values = json.loads((folder / "config.json").read_text())
    remote = {"model_type": "their_own", "auto_map": {"AutoModelForCausalLM": "modeling.Model"}}
    (folder / "modeling.py").write_text("raise SystemExit('run')")
    (folder / "config.json").write_text(json.dumps(values | remote))
    assert "model_type 'their_own', which is not supported; supported are bert, " in refusal(folder)
    del values["model_type"]
    (folder / "config.json").write_text(json.dumps(values))
    assert "has no model_type" in refusal(folder)


def test_what_a_training_leaves_beside_its_weights_is_not_opened(folder: Path, tmp_path: Path):
    (folder / "model.safetensors").unlink()
    (folder / "training_args.bin").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    assert "has no weights (model.safetensors)" in refusal(folder)
    assert not (tmp_path / "sprung").exists()


def test_a_tokenizer_that_does_not_fit(folder: Path):
    add_tokenizer(folder, n_tokens=foreign.VOCAB_SIZE + 1)
    assert "the tokenizer has 62 tokens and the model 61, so they do not belong to the same model" in refusal(folder)


def test_a_folder_without_a_tokenizer_reads_token_ids(folder: Path):
    (folder / "tokenizer.json").unlink()
    model, tokenizer = tc.load(folder)
    assert (tokenizer.kind, tokenizer.vocab_size) == ("ids", model.config.vocab_size)
    assert tokenizer.encode_for("3, 1 4", "decoder_only") == [3, 1, 4] and tokenizer.decode([3, 1, 4]) == "3 1 4"
    for part in ("tokenizer_config.json", "vocab.json", "merges.txt", "tokenizer.model"):  # a part is not left unsaid
        (folder / part).write_text("{}")
        assert "tokenizer" in refusal(folder)
        (folder / part).unlink()
    (folder / "tokenizer.json").write_text("{")
    assert "tokenizer.json is damaged" in refusal(folder)


@pytest.mark.slow
@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16, torch.float32])
def test_precision(stored: torch.dtype, folder: Path):
    weights = load_file(folder / "model.safetensors")
    save_file({key: weight.to(stored) for key, weight in weights.items()}, folder / "model.safetensors")
    for dtype, expected in ((None, torch.float32), ("bf16", torch.bfloat16), (torch.float64, torch.float64)):
        model, tokenizer = tc.load(folder, dtype=dtype)
        assert dtypes(model) == {expected}
        assert model(*batch()).dtype == expected
    tc.save(folder.parent / "ours", model.to(stored), tokenizer)
    assert dtypes(tc.load(folder.parent / "ours")[0]) == {stored}  # as it was saved
    assert dtypes(tc.load(folder.parent / "ours", dtype="float64")[0]) == {torch.float64}
    for source in (folder, folder.parent / "ours"):
        with pytest.raises(ConfigError, match="dtype must be one of float32, bfloat16"):
            tc.load(source, dtype="int8")


def test_a_device_that_is_not_there(folder: Path):
    with pytest.raises(ConfigError, match="there is no device 'tpu' on this machine; there is "):
        tc.load(folder, device="tpu")
    assert tc.load(folder, device="cpu")[0].unembed.weight.device == torch.device("cpu")


def test_its_own_memory(folder: Path):
    """What is loaded does not change with the file, and can be written on, where the file cannot."""
    model, _ = tc.load(folder)
    before = model(*batch())
    (folder / "model.safetensors").chmod(0o400)
    with open(folder / "model.safetensors", "r+b") as file:
        file.seek(-1000, 2)
        file.write(bytes(1000))
    assert torch.equal(model(*batch()), before)
    with torch.no_grad():
        model.unembed.weight.zero_()
    assert not model(*batch()).any()


@pytest.mark.parametrize("device_map", [None, {"": "cpu", "decoder.blocks": "disk"}])
def test_progress(device_map: dict[str, str] | None, folder: Path):
    told: list[tuple[int, int, Message]] = []
    model, tokenizer = tc.load(folder, device_map=device_map, on_progress=lambda *news: told.append(news))
    tc.save(folder.parent / "ours", model, tokenizer)
    ours: list[tuple[int, int, Message]] = []
    tc.load(folder.parent / "ours", device_map=device_map, on_progress=lambda *news: ours.append(news))
    for news, what in ((told, f"reading {folder}"), (ours, "reading ours")):
        assert {(total, str(name)) for _, total, name in news} == {(news[-1][0], what)}
        assert [done for done, _, _ in news] == sorted({done for done, _, _ in news})
        assert news[-1][0] == sum(parameter.numel() * 4 for parameter in model.parameters())


def test_a_model_that_is_loaded_while_nothing_is_trained_can_be_trained(folder: Path):
    with torch.inference_mode():
        models = [tc.load(folder)[0], tc.load(folder, device_map={"": "cpu", "decoder.blocks": "disk"})[0]]
    for model in models:
        model(*batch()).sum().backward()
        assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("name", ["gpt2", "bert", "t5"])
def test_a_foreign_model_with_blocks_on_the_disk(name: str, folder_of: FolderOf, tmp_path: Path):
    """Of a GPT-2 other layouts lie there than in its file."""
    shutil.copytree(folder_of(name), tmp_path / name)
    whole, _ = tc.load(add_tokenizer(tmp_path / name))
    places = {"": "cpu"} | {f"{stack}.blocks": "disk" for stack in foreign.SMALL[name].stacks}
    split, _ = tc.load(tmp_path / name, device_map=places)
    assert torch.equal(split(*batch(name)), whole(*batch(name)))
    assert not any(parameter.is_meta for parameter in split.parameters())
    if split.decoder is not None:
        written = [tc.greedy_decode(model, batch(name)[0], max_new_tokens=4).tokens for model in (split, whole)]
        assert torch.equal(*written)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "bert", "t5", "marian-own-head", "gpt2"])
def test_a_foreign_model_becomes_a_checkpoint_of_ours(name: str, folder_of: FolderOf, tmp_path: Path):
    shutil.copytree(folder_of(name), tmp_path / name)
    model, tokenizer = tc.load(add_tokenizer(tmp_path / name, n_tokens=50))
    tc.save(tmp_path / "ours", model, tokenizer, {"title": name, "source": "elsewhere"})
    again, tokenizer_again = tc.load(tmp_path / "ours")
    assert again.config == model.config
    assert torch.equal(again(*batch(name)), model(*batch(name)))
    assert tokenizer_again.encode("w5 w7 w99") == tokenizer.encode("w5 w7 w99") == [5, 7, 3]
    assert tokenizer_again.vocab_size == 50
    assert tc.read_card(tmp_path / "ours")["source"] == "elsewhere"


def test_a_hugging_face_folder_is_not_replaced_by_a_checkpoint(folder: Path):
    model, tokenizer = tc.load(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for refuse in (refuse_to_replace, lambda place: tc.save(place, model, tokenizer)):
        with pytest.raises(CheckpointError, match="contains files that are not a checkpoint"):
            refuse(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
