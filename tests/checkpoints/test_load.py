"""A model loads from whatever it lies in, and a folder that cannot be read is refused in one calm sentence."""

import ast
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

import transformer_core as tc
from tests.checkpoints import foreign
from tests.lints.arrows import ROOT, all_files, imported_files, module_of, runs_at_import
from tests.text.refusals import refusal
from transformer_core.checkpoints.location import find
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


def test_a_path_is_read_as_it_was_pasted_or_refused_calmly(folder: Path, monkeypatch: pytest.MonkeyPatch):
    folder = folder.rename(folder.with_name("a llama"))
    monkeypatch.setenv("HOME", str(folder.parent))
    for text in (f' "{folder}" ', f"‘{folder}’", folder.as_uri(), "~/a llama", f"{folder}/\n"):
        assert find(text).folder == folder, text
    (folder.parent / "ring").symlink_to("ring")
    os.mkfifo(folder.parent / "pipe")
    monkeypatch.chdir(folder.parent)
    odd: list[tuple[str | Path, str]] = [
        ("a" * 5000, "too long"),
        (Path("a\0b"), "paths cannot have"),
        ("C:\\a", "no file or folder"),
    ]
    odd += [
        ("ring", "symbolic links"),
        ("ring/x", "symbolic links"),
        ("pipe", "is not a folder"),
        ("~no/a", "no file or folder"),
    ]
    for source, message in (*odd, ("\ud800", "paths cannot have"), ("https://example.com/a", "a web address")):
        with pytest.raises(CheckpointError) as caught:
            tc.load(source)
        assert message in str(caught.value) and len(str(caught.value)) < 200


def test_families_and_layouts_are_imported_for_models_of_other_programs_only():
    modules, reached = {module_of(path, ROOT): path for path in all_files(ROOT)}, set[str]()
    to_visit = ["transformer_core.checkpoints.load"]
    while to_visit:
        if (module := to_visit.pop()) in modules and module not in reached:
            reached.add(module)
            tree = runs_at_import(ast.parse(modules[module].read_text(encoding="utf-8")))
            to_visit += imported_files(tree, module, modules[module].name == "__init__.py", modules)
    assert "transformer_core.model.block" in reached and not any(".convert" in module for module in reached)


def dtypes(model: tc.Transformer) -> set[torch.dtype]:
    return {parameter.dtype for parameter in model.parameters()}


@pytest.mark.parametrize("name", ["gpt2", "bert", "marian-own-head", "t5-v1.1"])
def test_a_hugging_face_folder(name: str, folder_of: FolderOf, tmp_path: Path):
    """It loads, also with blocks on the disk, where a GPT-2 has other layouts than in its file; and becomes ours."""
    source, tokens = tmp_path / name, foreign.batch(name)
    shutil.copytree(folder_of(name), source)
    model, tokenizer = tc.load(add_tokenizer(source, n_tokens=50))
    assert (tokenizer.kind, tokenizer.vocab_size, model.training) == ("foreign", 50, False)
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
    with pytest.raises(CheckpointError, match="contains files that are not a checkpoint"):
        tc.save(source, model, tokenizer)


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
    assert "which is also in model-0000" in refusal(tc.load, folder)  # a key that is there twice
    (folder / "model-00002-of-00003.safetensors").unlink()
    assert "lacks model-00002-of-00003.safetensors, one of 3 weight files" in refusal(tc.load, folder)
    for content in ("", "[]", "{}", '{"weight_map": {}}', '{"weight_map": {"a": 5}}', '{"weight_map": {"a": "../b"}}'):
        index.write_text(content)
        assert "does not list the weight files" in refusal(tc.load, folder)


def test_parts_that_are_missing_cut_off_or_nonsense(folder: Path):
    for part, message in (
        ("model.safetensors", "model.safetensors is damaged or truncated"),
        ("config.json", "config"),
    ):
        whole = (folder / part).read_bytes()
        (folder / part).write_bytes(whole[: len(whole) // 2])
        assert message in refusal(tc.load, folder)
        (folder / part).write_bytes(whole)
    add_tokenizer(folder, n_tokens=foreign.VOCAB_SIZE + 1)
    assert "the tokenizer has 62 tokens and the model 61, so they do not belong" in refusal(tc.load, folder)
    (folder / "config.json").unlink()
    assert "has no config.json" in refusal(tc.load, folder)


@pytest.mark.parametrize("value", [1001, 10**9, 10**30])
@pytest.mark.parametrize("name", ["num_hidden_layers", "hidden_size"])
def test_a_size_that_no_model_has_is_refused_before_anything_is_made(name: str, value: int, folder: Path):
    config = json.loads((folder / "config.json").read_text())
    for family in ("llama", "qwen2", "modernbert", "bert"):
        many = {"model_type": family, name: value * 12**6 if name == "hidden_size" else value}
        (folder / "config.json").write_text(json.dumps(config | many))
        assert str(many[name])[:3] in refusal(tc.load, folder).partition("config.json")[2]


def test_what_lies_in_place_of_a_file_of_a_model_is_named(folder: Path):
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").unlink()
    for name, message in (("tf_model.h5", "HDF5"), ("flax_model.msgpack", "Flax"), ("model.onnx", "ONNX")):
        (folder / name).write_bytes(b"\x08\x01")
        assert name in (refused := refusal(tc.load, folder)) and message in refused
        (folder / name).unlink()
    (folder / "model.safetensors").write_bytes(weights)
    for name in ("config.json", "tokenizer.json"):
        text = (folder / name).read_text()
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
        for content, message in ((pointer, "Git LFS"), ("<!DOCTYPE html><html>", "web page")):
            (folder / name).write_text(content)
            assert message in (refused := refusal(tc.load, folder)) and name in refused
        for content in ("null", "[" * 100_000):
            (folder / name).write_text(content)
            assert not {"NoneType", "recursion"} & {*refusal(tc.load, folder).split()}
        (folder / name).write_text(text, encoding="utf-16")
        assert "codec" not in refusal(tc.load, folder)
        (folder / name).write_text(text, encoding="utf-8-sig")
        tc.load(folder)
    for end, message in (("6.5", "generation_config.json: eos_token_id = 6.5"), ("6.0", "")):
        (folder / "generation_config.json").write_text(f'{{"eos_token_id": {end}}}')
        assert message in refusal(tc.load, folder) if message else tc.load(folder)[0].config.eos_ids == (6,)


def test_a_folder_without_a_tokenizer_reads_token_ids(folder: Path):
    (folder / "tokenizer.json").unlink()
    model, tokenizer = tc.load(folder)
    assert (tokenizer.kind, tokenizer.vocab_size) == ("ids", model.config.vocab_size)
    assert tokenizer.encode_for("3, 1 4", "decoder_only") == [3, 1, 4] and tokenizer.decode([3, 1, 4]) == "3 1 4"
    for part in ("tokenizer_config.json", "vocab.json", "merges.txt", "tokenizer.model"):  # a part is not left unsaid
        (folder / part).write_text("{}")
        assert "tokenizer" in refusal(tc.load, folder)
        (folder / part).unlink()
    (folder / "tokenizer.json").write_text("{")
    assert "tokenizer.json is damaged" in refusal(tc.load, folder)


def test_precision(folder: Path):
    stored = torch.float16
    weights = load_file(folder / "model.safetensors")
    save_file({key: weight.to(stored) for key, weight in weights.items()}, folder / "model.safetensors")
    for dtype, expected in ((None, torch.float32), ("bf16", torch.bfloat16), (torch.float64, torch.float64)):
        model, tokenizer = tc.load(folder, dtype=dtype)
        assert dtypes(model) == {expected}
        assert model(*TOKENS).dtype == expected
    tc.save(folder.parent / "ours", model.to(stored), tokenizer)
    assert dtypes(tc.load(folder.parent / "ours")[0]) == {stored}  # as it was saved
    for source in (folder, folder.parent / "ours"):
        with pytest.raises(ConfigError, match="dtype must be one of float32, bfloat16"):
            tc.load(source, dtype="int8")
    with pytest.raises(ConfigError, match="there is no device 'tpu' on this machine; there is "):
        tc.load(folder, device="tpu")


@pytest.mark.parametrize("device_map", [None, {"": "cpu", "decoder.blocks": "disk"}])
def test_progress(device_map: dict[str, str] | None, folder: Path):
    tc.save(folder.parent / "ours", *tc.load(folder))
    for source, what in ((folder, f"reading {folder}"), (folder.parent / "ours", "reading ours")):
        news: list[tuple[int, int, Message]] = []
        model, _ = tc.load(
            source, device_map=device_map, on_progress=lambda *reported, news=news: news.append(reported)
        )
        assert {(total, str(name)) for _, total, name in news} == {(news[-1][0], what)}
        assert [done for done, _, _ in news] == sorted({done for done, _, _ in news})
        assert news[-1][0] == sum(parameter.numel() * 4 for parameter in model.parameters())
