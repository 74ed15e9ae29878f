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
TOKENS = foreign.batch("llama")


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


@pytest.mark.parametrize("name", ["gpt2", "bert", "marian-own-head", "t5-v1.1"])
def test_a_hugging_face_folder(name: str, folder_of: FolderOf, tmp_path: Path):
    """It loads, also with blocks on the disk, where a GPT-2 has other layouts than in its file; and becomes ours."""
    source, tokens = tmp_path / name, foreign.batch(name)
    shutil.copytree(folder_of(name), source)
    model, tokenizer = tc.load(add_tokenizer(source, n_tokens=50))
    assert (tokenizer.kind, tokenizer.vocab_size, model.training) == ("foreign", 50, False)
    assert tokenizer.encode("w5 w7 w99") == [5, 7, 3] and tokenizer.decode([5, 7]) == "w5 w7"
    logits = model(*tokens)
    assert torch.equal(logits, foreign.ours(source)(*tokens))

    split, _ = tc.load(
        source, device_map={"": "cpu"} | {f"{stack}.blocks": "disk" for stack in foreign.SMALL[name].stacks}
    )
    assert torch.equal(split(*tokens), logits)
    if split.decoder is not None:
        written = [tc.greedy_decode(one, tokens[0], max_new_tokens=4).tokens for one in (split, model)]
        assert torch.equal(*written)

    tc.save(tmp_path / "ours", split, tokenizer, {"title": name, "source": "elsewhere"})
    again, tokenizer_again = tc.load(tmp_path / "ours")
    assert again.config == model.config
    assert torch.equal(again(*tokens), logits)
    assert tokenizer_again.encode("w5 w7 w99") == [5, 7, 3]
    assert tc.read_card(tmp_path / "ours")["source"] == "elsewhere"
    before = {path.name: path.read_bytes() for path in source.iterdir()}
    for refuse in (refuse_to_replace, lambda place: tc.save(place, model, tokenizer)):
        with pytest.raises(CheckpointError, match="contains files that are not a checkpoint"):
            refuse(source)
    assert {path.name: path.read_bytes() for path in source.iterdir()} == before


def test_a_text_may_be_a_folder_a_path_must_be(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder.parent)
    for source in ("llama", "./llama", str(folder), Path("llama"), folder):
        assert torch.equal(tc.load(source)[0](*TOKENS), tc.load(folder)[0](*TOKENS))
    with pytest.raises(CheckpointError, match="there is no folder 'lama'; give the path"):
        tc.load(Path("lama"))
    with pytest.raises(CheckpointError, match="there is no folder 'lama'; give the path"):
        tc.load("./lama")


def test_parts_named_by_an_index(folder: Path):
    whole = tc.load(folder)[0](*TOKENS)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = {key: f"model-0000{1 + i % 3}-of-00003.safetensors" for i, key in enumerate(weights)}
    for name in set(names.values()):
        save_file({key: weight for key, weight in weights.items() if names[key] == name}, folder / name)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": names}))
    assert torch.equal(tc.load(folder)[0](*TOKENS), whole)

    save_file({key: weights[key] for key in [*weights][:2]}, folder / "model-00003-of-00003.safetensors")
    assert "which is also in model-0000" in refusal(folder)  # a key that is there twice
    (folder / "model-00002-of-00003.safetensors").unlink()
    assert "lacks model-00002-of-00003.safetensors, one of 3 weight files" in refusal(folder)
    for content in ("", "[]", "{}", '{"weight_map": {}}', '{"weight_map": {"a": 5}}', '{"weight_map": {"a": "../b"}}'):
        index.write_text(content)
        assert "does not list the weight files" in refusal(folder)


def test_parts_that_are_missing_cut_off_or_nonsense(folder: Path):
    for part, said in (("model.safetensors", "model.safetensors is damaged or truncated"), ("config.json", "config")):
        whole = (folder / part).read_bytes()
        for content in (b"", whole[: len(whole) // 2], whole[:-3], b"\xff" * 99, b"[" * 99_999, whole + b"0"):
            (folder / part).write_bytes(content)
            assert said in refusal(folder)
        (folder / part).write_bytes(whole)
    add_tokenizer(folder, n_tokens=foreign.VOCAB_SIZE + 1)
    assert "the tokenizer has 62 tokens and the model 61, so they do not belong to the same model" in refusal(folder)
    (folder / "config.json").unlink()
    assert "has no config.json" in refusal(folder)


def test_code_and_what_a_training_leaves_are_not_opened(folder: Path, tmp_path: Path):
    values = json.loads((folder / "config.json").read_text())
    remote = {"model_type": "their_own", "auto_map": {"AutoModelForCausalLM": "modeling.Model"}}
    (folder / "modeling.py").write_text("raise SystemExit('run')")
    (folder / "config.json").write_text(json.dumps(values | remote))
    assert "model_type 'their_own', which is not supported; supported are bert, " in refusal(folder)
    (folder / "config.json").write_text(json.dumps(values))
    (folder / "model.safetensors").unlink()
    (folder / "training_args.bin").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    assert "has no weights (model.safetensors)" in refusal(folder)
    assert not (tmp_path / "sprung").exists()


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


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16, torch.float32])
def test_precision(stored: torch.dtype, folder: Path):
    weights = load_file(folder / "model.safetensors")
    save_file({key: weight.to(stored) for key, weight in weights.items()}, folder / "model.safetensors")
    for dtype, expected in ((None, torch.float32), ("bf16", torch.bfloat16), (torch.float64, torch.float64)):
        model, tokenizer = tc.load(folder, dtype=dtype)
        assert dtypes(model) == {expected}
        assert model(*TOKENS).dtype == expected
    tc.save(folder.parent / "ours", model.to(stored), tokenizer)
    assert dtypes(tc.load(folder.parent / "ours")[0]) == {stored}  # as it was saved
    assert dtypes(tc.load(folder.parent / "ours", dtype="float64")[0]) == {torch.float64}
    for source in (folder, folder.parent / "ours"):
        with pytest.raises(ConfigError, match="dtype must be one of float32, bfloat16"):
            tc.load(source, dtype="int8")
    with pytest.raises(ConfigError, match="there is no device 'tpu' on this machine; there is "):
        tc.load(folder, device="tpu")


def test_its_own_memory(folder: Path):
    """What is loaded does not change with the file, and can be written on, where the file cannot."""
    model, _ = tc.load(folder)
    before = model(*TOKENS)
    (folder / "model.safetensors").chmod(0o400)
    with open(folder / "model.safetensors", "r+b") as file:
        file.seek(-1000, 2)
        file.write(bytes(1000))
    assert torch.equal(model(*TOKENS), before)
    with torch.no_grad():
        model.unembed.weight.zero_()
    assert not model(*TOKENS).any()


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
        model(*TOKENS).sum().backward()
        assert all(parameter.grad is not None for parameter in model.parameters())
