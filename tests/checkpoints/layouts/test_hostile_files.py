"""Files that are damaged, declare absurd sizes, or contain code: each is refused in a sentence, and nothing is run."""

import json
import pickle
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.checkpoints.further_programs import llama
from tests.checkpoints.programs import llmc, microgpt, nanochat
from tests.checkpoints.programs_with_options import litgpt, transformer_lens
from tests.checkpoints.test_pickles import Hostile
from transformer_core.checkpoints import plain_files
from transformer_core.checkpoints.checkpoint import MOST_JSON_BYTES
from transformer_core.errors import CheckpointError


def refused(path: Path, match: str) -> None:
    with pytest.raises(CheckpointError, match=match):
        tc.load(path, options={"activation": "relu"})


def test_json_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, _, _ = microgpt(tmp_path, is_first=False)
    text = path.read_text()
    for damaged in (text[:-100], '{"wte": ' + "[" * 100_000, '{"wte": [[1, 2], [3]]}', '{"wte": [[1, "a"]]}'):
        path.write_text(damaged)
        refused(path, "does not contain weights: expected a JSON object")
    path.write_text(json.dumps({**json.loads(text), "wpe": [[1.0]]}))
    refused(path, "'wpe' is|recognized as microGPT")
    path.write_text(text)
    monkeypatch.setattr(plain_files, "MOST_JSON_BYTES", 1000)
    refused(path, "but at most 1 KiB are read")


def test_headers_of_llmc(tmp_path: Path):
    path, _, _ = llmc(tmp_path, torch.float32)
    content = path.read_bytes()
    for place, value in ((1, 7), (2, 2**30), (4, 2**31 - 1), (4, -1), (6, 0), (7, 5)):
        path.write_bytes(content[: 4 * place] + struct.pack("<i", value) + content[4 * place + 4 :])
        refused(path, "of version 7" if place == 1 else "its size does not match its header")
    for damaged in (content[:-4], content[:100], content + b"1234"):
        path.write_bytes(damaged)
        refused(path, "its size does not match its header")


def test_headers_of_llama2c(tmp_path: Path):
    for kind, places in (("version 1", ((1, 2), (2, -1), (4, 2**31 - 1), (9, 0))), ("legacy", ((0, 52), (5, 61)))):
        path, _, _ = llama(tmp_path, kind=kind)
        content = path.read_bytes()
        for place, value in places:
            path.write_bytes(content[: 4 * place] + struct.pack("<i", value) + content[4 * place + 4 :])
            refused(path, "of version 2, whose weights" if (place, value) == (1, 2) else "does not match its header")
        for damaged in (content[:-4], content[:100], content + b"1234"):
            path.write_bytes(damaged)
            refused(path, "its size does not match its header")


def test_options_of_llama(tmp_path: Path):
    path, _, _ = llama(tmp_path, kind="meta")
    params = json.loads((tmp_path / "params.json").read_text())
    for changed, match in (
        ({"n_heads": "x"}, "n_heads must be a whole number"),
        ({"rope_theta": -1}, "rotary_base must be"),
        ({"moe": {"num_experts": 8}}, "moe = .* is not supported"),
        ({"n_heads": 5}, "must be divisible by n_kv_heads"),
    ):
        (tmp_path / "params.json").write_text(json.dumps({**params, **changed}))
        refused(path, match)
    (tmp_path / "consolidated.01.pth").write_bytes(path.read_bytes())
    for place in (path, tmp_path):
        refused(place, "one model cut into 2 files for as many GPUs")


def test_descriptions_beside_the_weights(tmp_path: Path):
    mark = tmp_path / "ran"
    path, _, _ = litgpt(tmp_path, is_llama=True)
    written = (tmp_path / "model_config.yaml").read_text()
    for text, match in (
        (f"!!python/object/apply:os.system ['touch {mark}']", "not a YAML file of plain values"),
        ("n_head: [", "not a YAML file of plain values"),
        ("a: " * 40000, "not a YAML file of plain values"),
        (written + "n_head: x\n", "n_heads must be a whole number"),
        (written + "n_head: 0\n", "n_heads must be a whole number"),
        (written + "n_head: 40\n", "qkv.weight' is"),
        (written + "n_expert: 8\n", "n_expert = 8 is not supported"),
        (written + "head_size: 7\n", "cannot be built|belong to another"),
    ):
        (tmp_path / "model_config.yaml").write_text(text)
        refused(path, match)
    assert not mark.exists()
    for name in ("litgpt", "lens", "chat"):
        (tmp_path / name).mkdir()
    path, _, _ = nanochat(tmp_path / "chat")
    for meta in ("{", "[]", '{"model_config": {"n_head": "x"}}', '{"model_config": {"n_head": 0}}'):
        (path.parent / "meta_000650.json").write_text(meta)
        refused(path, "has no model_config|not valid JSON|must contain a JSON object|n_heads must be a whole number")
    (path.parent / "meta_000650.json").write_text('{"model_config": {"window_pattern": "SSSL"}}')
    refused(path, "window_pattern = 'SSSL' is not supported")
    path, _, _ = transformer_lens(tmp_path / "lens", is_folded=True)
    for cfg, match in (
        ("{", "is not valid JSON"),
        ('{"attn_scale": 4.5, "d_head": 12}', "attn_scale = 4.5 is not supported"),
        (" " * (MOST_JSON_BYTES + 1), "at most 16 MiB are read"),
        ('{"eps": -1}', "layer_norm_eps must be"),
        ('{"attention_dir": "bidirectional"}', "attention_dir = 'bidirectional' is not supported"),
        ('{"normalization_type": ["LN"]}', "normalization_type"),
    ):
        (path.parent / "cfg.json").write_text(cfg)
        refused(path, match)


@pytest.mark.parametrize(
    ("write", "key"),
    [
        (nanochat, "_orig_mod.transformer.h.0.attn.c_q.weight"),
        (partial(litgpt, is_llama=True, is_old=True), "transformer.h.0.attn.attn.weight"),
        (partial(transformer_lens, is_folded=True), "unembed.W_U"),
    ],
)
def test_tensors_that_cannot_be_rearranged(write: Callable[[Path], Any], key: str, tmp_path: Path):
    path, options, _ = write(tmp_path)
    content = torch.load(path)
    weights = content.get("model", content)
    for wrong in (torch.ones(()), torch.ones(1), torch.cat([weights[key]] * 2, dim=-1)):
        torch.save({**weights, key: wrong}, path)
        with pytest.raises(CheckpointError):
            tc.load(path, options=options)


def test_pickles_with_code(tmp_path: Path):
    mark = tmp_path / "ran"
    path, _, _ = transformer_lens(tmp_path, is_folded=True)
    torch.save({"model": torch.load(path), "config": Hostile(mark)}, path)
    refused(path, "could run code, so it was not opened")
    path.write_bytes(pickle.dumps({"model": Hostile(mark)}))
    refused(path, "a pickle that torch.save did not write, which could run code")
    assert not mark.exists()
