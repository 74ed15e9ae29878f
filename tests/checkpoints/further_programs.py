"""Further small language models from scratch: of Karpathy's lecture, of llama2.c, and in Meta's format of Llama."""

import json
import struct
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.checkpoints.programs import HEADS, LAYERS, LENGTH, VOCAB, WIDTH, Case, attend, rand, rms, split
from tests.checkpoints.programs_with_options import CASES


class Head(nn.Module):
    """One head; its scores are divided by the root of `scaled_by`."""

    tril: Tensor

    def __init__(self, width: int, scaled_by: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, width, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.ones(LENGTH, LENGTH).tril())
        self.scaled_by = scaled_by

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        n = x.shape[1]
        scores = self.query(x) @ self.key(x).mT / self.scaled_by**0.5
        pattern = scores.masked_fill(self.tril[:n, :n] == 0, -torch.inf).softmax(-1)
        return pattern @ self.value(x), pattern


class Block(nn.Module):
    """A module per head, and a feed-forward network, both after a normalization."""

    def __init__(self, scaled_by: int, activation: type[nn.Module]) -> None:
        super().__init__()
        self.heads = [Head(WIDTH // HEADS, scaled_by) for _ in range(HEADS)]
        self.sa = nn.ModuleDict({"heads": nn.ModuleList(self.heads), "proj": nn.Linear(WIDTH, WIDTH)})
        layers = nn.Linear(WIDTH, 70), activation(), nn.Linear(70, WIDTH), nn.Dropout(0.2)
        self.ffwd = nn.ModuleDict({"net": nn.Sequential(*layers)})
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outputs, patterns = zip(*[head(self.ln1(x)) for head in self.heads], strict=True)
        x = x + self.sa["proj"](torch.cat(outputs, dim=-1))
        return x + self.ffwd["net"](self.ln2(x)), torch.stack(patterns, dim=1)


class LectureGPT(nn.Module):
    """Its output layer has a bias, and is not the embedding."""

    def __init__(self, scaled_by: int, activation: type[nn.Module]) -> None:
        super().__init__()
        self.token_embedding_table = nn.Embedding(VOCAB, WIDTH)
        self.position_embedding_table = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block(scaled_by, activation) for _ in range(LAYERS)])
        self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB)

    def forward(self, tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = self.token_embedding_table(tokens) + self.position_embedding_table.weight[: tokens.shape[1]]
        patterns = []
        for block in self.blocks:
            x, pattern = block(x)
            patterns.append(pattern)
        return self.lm_head(self.ln_f(x)), patterns


def lecture(tmp_path: Path, *, is_of_video: bool = False, is_stacked: bool = False) -> Case:
    """Write a model of gpt.py; of the version in the video; or of a variant with other names and GELU."""
    theirs = LectureGPT(WIDTH if is_of_video else WIDTH // HEADS, nn.GELU if is_stacked else nn.ReLU).eval()
    for name, parameter in theirs.named_parameters():
        nn.init.normal_(parameter, std=0.0 if is_stacked and name == "lm_head.bias" else 0.3)
    weights = dict(theirs.state_dict())
    if is_stacked:
        names = {"sa.proj": "sa.c_proj", "ffwd.net.2": "ffwd.net.3", "ln_f": f"blocks.{LAYERS}"}
        for old, new in names.items():
            weights = {key.replace(f"{old}.", f"{new}."): weight for key, weight in weights.items()}
        del weights["lm_head.bias"]
        for i in range(LAYERS):
            heads = [f"blocks.{i}.sa.heads.{h}" for h in range(HEADS)]
            rows = [weights.pop(f"{head}.{name}.weight") for name in ("query", "key", "value") for head in heads]
            weights[f"blocks.{i}.sa.c_attn.weight"] = torch.cat(rows)
    config = {"score_scale": "d_model"} if is_of_video else {"activation": "gelu"} if is_stacked else {}
    if config:
        (tmp_path / "config.json").write_text(json.dumps(config))
    torch.save({"model_state_dict": weights, "step": 5} if is_of_video else weights, tmp_path / "model.pth")
    return tmp_path / "model.pth", {"n_heads": HEADS} if is_stacked else {}, theirs


CASES["lecture_gpt"] = lecture
CASES["lecture_gpt_of_video"] = partial(lecture, is_of_video=True)
CASES["lecture_gpt_stacked"] = partial(lecture, is_stacked=True)


def llama(tmp_path: Path, *, kind: str = "ckpt.pt", groups: int = 2) -> Case:
    """A Llama that rotates neighbouring numbers: tied as in llama2.c, or as Meta and Mistral save theirs."""
    is_tied, d, inner = kind in ("ckpt.pt", "version 1"), 10 if kind == "mistral" else WIDTH // HEADS, 70
    shapes: dict[str, tuple[int, ...]] = {"attention.wq": (HEADS * d, WIDTH), "attention.wk": (groups * d, WIDTH)}
    shapes |= {"attention.wv": (groups * d, WIDTH), "attention.wo": (WIDTH, HEADS * d)}
    shapes |= {"feed_forward.w1": (inner, WIDTH), "feed_forward.w2": (WIDTH, inner), "feed_forward.w3": (inner, WIDTH)}
    shapes |= {"attention_norm": (WIDTH,), "ffn_norm": (WIDTH,)}
    w = {"tok_embeddings.weight": rand(VOCAB, WIDTH), "norm.weight": rand(WIDTH)}
    w |= {f"layers.{i}.{name}.weight": rand(*shape) for i in range(LAYERS) for name, shape in shapes.items()}
    w["output.weight"] = w["tok_embeddings.weight"] if is_tied else rand(VOCAB, WIDTH)
    base, eps, window = 1e4, 1e-5, None
    arguments: dict[str, Any] = {"dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "n_kv_heads": groups}
    options: dict[str, Any] = {}
    path = tmp_path / "model.bin"
    if kind == "ckpt.pt":
        path, prefix = tmp_path / kind, "_orig_mod."
        arguments |= {"vocab_size": VOCAB, "max_seq_len": LENGTH, "dropout": 0.0, "multiple_of": 32}
        torch.save({"model": {prefix + key: weight for key, weight in w.items()}, "model_args": arguments}, path)
    elif kind in ("meta", "mistral"):
        path = tmp_path / "consolidated.00.pth"
        base, eps = 500.0, 1e-4
        arguments |= {"norm_eps": eps, "rope_theta": base, "vocab_size": -1, "ffn_dim_multiplier": 1.3}
        if kind == "mistral":
            window = 7
            arguments |= {"head_dim": d, "hidden_dim": inner, "sliding_window": window}
        (tmp_path / "params.json").write_text(json.dumps(arguments))
        (tmp_path / "config.json").write_text('{"model_type": "llama"}')  # of its version for another library
        torch.save(w | {"rope.freqs": base ** -(torch.arange(0, d, 2) / d)}, path)
    elif kind == "state dict":
        path, options = tmp_path / "stories.pt", {"n_heads": HEADS}
        torch.save(w, path)
    else:
        path.write_bytes(_bin(w, [WIDTH, inner, LAYERS, HEADS, groups, VOCAB, LENGTH], is_legacy=kind == "legacy"))

    def turned(x: Tensor) -> Tensor:
        angles = torch.arange(x.shape[2])[:, None] * base ** -(torch.arange(0, d, 2) / d)
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(-2)

    def forward(tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x, patterns = w["tok_embeddings.weight"][tokens], []
        for i in range(LAYERS):
            of_layer = {name: w[f"layers.{i}.{name}.weight"] for name in shapes}
            h = rms(x, of_layer["attention_norm"], eps)
            q, k, v = (
                split(h @ of_layer[f"attention.w{name}"].T, n)
                for name, n in (("q", HEADS), ("k", groups), ("v", groups))
            )
            z, pattern = attend(turned(q), turned(k), v, window=window)
            patterns.append(pattern)
            x = x + z @ of_layer["attention.wo"].T
            h = rms(x, of_layer["ffn_norm"], eps)
            w1, w2, w3 = (of_layer[f"feed_forward.w{n}"].T for n in (1, 2, 3))
            x = x + (F.silu(h @ w1) * (h @ w3)) @ w2
        return rms(x, w["norm.weight"], eps) @ w["output.weight"].T, patterns

    return path, options, forward


def _bin(w: dict[str, Tensor], sizes: list[int], *, is_legacy: bool) -> bytes:
    """The .bin file of llama2.c: of version 0 with its own output layer and tables of rotations, or 1, tied."""

    def layers(*names: str) -> list[Tensor]:
        return [w[f"layers.{i}.{name}.weight"] for name in names for i in range(LAYERS)]

    attention = layers(*(f"attention.w{name}" for name in "qkvo"))
    feed_forward = layers(*(f"feed_forward.w{n}" for n in (1, 2, 3)))
    if is_legacy:
        sizes[5] = -sizes[5]
        parts = [w["tok_embeddings.weight"], *layers("attention_norm"), *attention, *layers("ffn_norm"), *feed_forward]
        parts += [w["norm.weight"], torch.zeros(2, LENGTH, WIDTH // HEADS // 2), w["output.weight"]]
        head = struct.pack("<7i", *sizes)
    else:
        parts = [*layers("attention_norm", "ffn_norm"), w["norm.weight"], w["tok_embeddings.weight"]]
        parts += [*attention, *feed_forward]
        head = struct.pack("<Ii7iB", 0x616B3432, 1, *sizes, 1).ljust(256, b"\0")
    return head + b"".join(part.numpy().tobytes() for part in parts)


for kind in ("ckpt.pt", "meta", "mistral", "state dict", "legacy", "version 1"):
    CASES[f"llama_{kind}"] = partial(llama, kind=kind)
