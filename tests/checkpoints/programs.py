"""Small language models from scratch, saved as their programs do, and their forward passes, written again here.

Each function in `CASES` writes a checkpoint from the published description of its program.
"""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Forward = Callable[[Tensor], tuple[Tensor, list[Tensor]]]
VOCAB, WIDTH, LAYERS, HEADS, LENGTH = 61, 48, 2, 4, 90
Case = tuple[Path, dict[str, Any], Forward]
"""The path of a checkpoint, the options that its files leave open, and the forward pass of its program."""
CASES: dict[str, Callable[[Path], Case]] = {}


def case(write: Callable[[Path], Case]) -> Callable[[Path], Any]:
    CASES[write.__name__] = write
    return write


def rand(*shape: int, scale: float = 0.3) -> Tensor:
    return torch.randn(shape) * scale


def split(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def attend(q: Tensor, k: Tensor, v: Tensor, *, window: int | None = None) -> tuple[Tensor, Tensor]:
    """Causal attention of queries [batch, head, pos, width]; each key serves as many queries as there are more."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    ahead = torch.ones(q.shape[2], q.shape[2]).triu(1).bool()
    if window is not None:
        ahead |= torch.ones(q.shape[2], q.shape[2]).tril(-window).bool()
    pattern = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(ahead, -torch.inf).softmax(-1)
    return (pattern @ v).transpose(1, 2).flatten(2), pattern


def rms(x: Tensor, gain: Tensor | float = 1.0, eps: float = 1e-5) -> Tensor:
    return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * gain


def rotate(x: Tensor, base: float, *, n: int | None = None, sign: float = 1.0) -> Tensor:
    """Rotate the first `n` numbers of each head by its positions: the first half with the second."""
    n = x.shape[-1] if n is None else n
    angles = sign * torch.arange(x.shape[2])[:, None] / base ** (torch.arange(0, n, 2) / n)
    first, second, rest = x[..., : n // 2], x[..., n // 2 : n], x[..., n:]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos, rest], dim=-1)


def microgpt(tmp_path: Path, *, is_first: bool) -> Case:
    shapes = {"wte": (VOCAB, WIDTH), "wpe": (LENGTH, WIDTH), "lm_head": (VOCAB, WIDTH)}
    for i in range(LAYERS):
        shapes |= {f"layer{i}.attn_w{name}": (WIDTH, WIDTH) for name in "qkvo"}
        shapes |= {f"layer{i}.mlp_fc1": (4 * WIDTH, WIDTH), f"layer{i}.mlp_fc2": (WIDTH, 4 * WIDTH)}
    w = {name: rand(*shape) for name, shape in shapes.items()}
    (tmp_path / "model.json").write_text(json.dumps({name: weight.tolist() for name, weight in w.items()}))

    def forward(tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x, patterns = rms(w["wte"][tokens] + w["wpe"][: tokens.shape[1]]), []
        for i in range(LAYERS):
            h = rms(x)
            q, k, v = (split(h @ w[f"layer{i}.attn_w{name}"].T, HEADS) for name in "qkv")
            z, pattern = attend(q, k, v)
            patterns.append(pattern)
            x = x + z @ w[f"layer{i}.attn_wo"].T
            inner = F.relu(rms(x) @ w[f"layer{i}.mlp_fc1"].T)
            x = x + (inner**2 if is_first else inner) @ w[f"layer{i}.mlp_fc2"].T
        return x @ w["lm_head"].T, patterns

    return tmp_path / "model.json", {"activation": "squared_relu" if is_first else "relu"}, forward


@case
def microgpt_json(tmp_path: Path) -> Case:
    return microgpt(tmp_path, is_first=False)


@case
def microgpt_first_version(tmp_path: Path) -> Case:
    return microgpt(tmp_path, is_first=True)


def llmc(tmp_path: Path, dtype: torch.dtype) -> Case:
    """A header of 256 whole numbers, then each kind of tensor for all layers; the vocabulary is padded to 64."""
    inner = {"ln1": (WIDTH,), "qkv": (3 * WIDTH, WIDTH), "proj": (WIDTH, WIDTH), "ln2": (WIDTH,)}
    inner |= {"fc": (4 * WIDTH, WIDTH), "fcproj": (WIDTH, 4 * WIDTH)}
    w = {"wte": rand(64, WIDTH), "wpe": rand(LENGTH, WIDTH)}
    for name, shape in inner.items():
        w |= {f"{name}w": rand(LAYERS, *shape), f"{name}b": rand(LAYERS, shape[0])}
    w |= {"lnfw": rand(WIDTH), "lnfb": rand(WIDTH)}
    header = [20240326, 5 if dtype == torch.bfloat16 else 3, LENGTH, VOCAB, LAYERS, HEADS, WIDTH, 64]
    numbers = torch.cat([weight.flatten() for weight in w.values()]).to(dtype)
    (tmp_path / "gpt2.bin").write_bytes(
        struct.pack("<256i", *header, *[0] * 248) + numbers.view(torch.uint8).numpy().tobytes()
    )
    w = {name: weight.to(dtype).float() for name, weight in w.items()}
    (tmp_path / "gpt2_tokenizer.bin").write_bytes(struct.pack("<256i", 20240328, *[0] * 255))

    def norm(x: Tensor, name: str, i: int | tuple[()] = ()) -> Tensor:
        return F.layer_norm(x, (WIDTH,), w[f"{name}w"][i], w[f"{name}b"][i])

    def forward(tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x, patterns = w["wte"][tokens] + w["wpe"][: tokens.shape[1]], []
        for i in range(LAYERS):
            qkv = norm(x, "ln1", i) @ w["qkvw"][i].T + w["qkvb"][i]
            q, k, v = (split(part, HEADS) for part in qkv.split(WIDTH, dim=-1))
            z, pattern = attend(q, k, v)
            patterns.append(pattern)
            x = x + z @ w["projw"][i].T + w["projb"][i]
            inner = F.gelu(norm(x, "ln2", i) @ w["fcw"][i].T + w["fcb"][i], approximate="tanh")
            x = x + inner @ w["fcprojw"][i].T + w["fcprojb"][i]
        return norm(x, "lnf") @ w["wte"][:VOCAB].T, patterns

    return tmp_path / "gpt2.bin", {}, forward


@case
def llmc_float32(tmp_path: Path) -> Case:
    return llmc(tmp_path, torch.float32)


@case
def llmc_bfloat16(tmp_path: Path) -> Case:
    return llmc(tmp_path, torch.bfloat16)


@case
def nanochat(tmp_path: Path) -> Case:
    """Its first generation: gain-free RMS norms, rotations by negative angles, and a vocabulary padded to 64."""
    groups, d = 2, WIDTH // HEADS
    shapes = {"attn.c_q": (WIDTH, WIDTH), "attn.c_k": (groups * d, WIDTH), "attn.c_v": (groups * d, WIDTH)}
    shapes |= {"attn.c_proj": (WIDTH, WIDTH), "mlp.c_fc": (4 * WIDTH, WIDTH), "mlp.c_proj": (WIDTH, 4 * WIDTH)}
    w = {f"transformer.h.{i}.{name}.weight": rand(*shape) for i in range(LAYERS) for name, shape in shapes.items()}
    w |= {"transformer.wte.weight": rand(64, WIDTH), "lm_head.weight": rand(64, WIDTH, scale=2.0)}
    torch.save({f"_orig_mod.{name}": weight for name, weight in w.items()}, tmp_path / "model_000650.pt")
    config = {"sequence_len": LENGTH, "vocab_size": VOCAB, "n_layer": LAYERS, "n_head": HEADS, "n_kv_head": groups}
    meta = {"step": 650, "model_config": {**config, "n_embd": WIDTH}, "user_config": {"depth": 2}}
    (tmp_path / "meta_000650.json").write_text(json.dumps(meta))
    torch.save(torch.ones(64), tmp_path / "token_bytes.pt")
    torch.save({}, tmp_path / "optim_000650_rank0.pt")

    def norm(x: Tensor) -> Tensor:
        return F.rms_norm(x, x.shape[-1:])

    def forward(tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x, patterns = norm(w["transformer.wte.weight"][tokens]), []
        for i in range(LAYERS):
            q, k, v = (norm(x) @ w[f"transformer.h.{i}.attn.c_{name}.weight"].T for name in "qkv")
            q, k = (norm(rotate(split(part, n), 10000, sign=-1)) for part, n in ((q, HEADS), (k, groups)))
            z, pattern = attend(q, k, split(v, groups))
            patterns.append(pattern)
            x = x + z @ w[f"transformer.h.{i}.attn.c_proj.weight"].T
            inner = F.relu(norm(x) @ w[f"transformer.h.{i}.mlp.c_fc.weight"].T).square()
            x = x + inner @ w[f"transformer.h.{i}.mlp.c_proj.weight"].T
        logits = norm(x) @ w["lm_head.weight"][:VOCAB].T
        return 15 * torch.tanh(logits / 15), patterns

    return tmp_path / "model_000650.pt", {}, forward
