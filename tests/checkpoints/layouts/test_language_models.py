"""Language models from scratch, each against its forward pass, written again here from its published description.

Every case writes a checkpoint as its program does, and returns the path, the options that its files leave open, and a
function from tokens to logits and to the pattern of each layer.
"""

import json
import pickle
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor
from torch.nn import functional as F

import transformer_core as tc
from tests.checkpoints.test_pickles import Hostile
from transformer_core.checkpoints.convert import family_of
from transformer_core.checkpoints.foreign import open_saved
from transformer_core.checkpoints.layout import SavedModel, UndecidedError
from transformer_core.checkpoints.pickles import StateDict
from transformer_core.errors import CheckpointError
from transformer_core.text.load import load_tokenizer

Forward = Callable[[Tensor], tuple[Tensor, list[Tensor]]]
VOCAB, WIDTH, LAYERS, HEADS, LENGTH = 61, 48, 2, 4, 90
CASES: dict[str, Callable[[Path], tuple[Path, dict[str, Any], Forward]]] = {}


def case(write: Callable[[Path], tuple[Path, dict[str, Any], Forward]]) -> Callable[[Path], Any]:
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


@pytest.fixture(autouse=True)
def one_seed() -> None:
    torch.manual_seed(0)


def microgpt(tmp_path: Path, *, is_first: bool) -> tuple[Path, dict[str, Any], Forward]:
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
def microgpt_json(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    return microgpt(tmp_path, is_first=False)


@case
def microgpt_first_version(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    return microgpt(tmp_path, is_first=True)


def llmc(tmp_path: Path, dtype: torch.dtype) -> tuple[Path, dict[str, Any], Forward]:
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
def llmc_float32(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    return llmc(tmp_path, torch.float32)


@case
def llmc_bfloat16(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    return llmc(tmp_path, torch.bfloat16)


def rotate(x: Tensor, base: float, *, n: int | None = None, sign: float = 1.0) -> Tensor:
    """Rotate the first `n` numbers of each head by its positions: the first half with the second."""
    n = x.shape[-1] if n is None else n
    angles = sign * torch.arange(x.shape[2])[:, None] / base ** (torch.arange(0, n, 2) / n)
    first, second, rest = x[..., : n // 2], x[..., n // 2 : n], x[..., n:]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos, rest], dim=-1)


def litgpt(
    tmp_path: Path, *, is_llama: bool, is_old: bool = False, is_gemma: bool = False
) -> tuple[Path, dict[str, Any], Forward]:
    """A Llama or Gemma of two groups of queries, or a GPT-NeoX with parallel sub-layers that rotates a third."""
    groups, d, inner = (2 if is_llama else HEADS), WIDTH // HEADS, 70
    parts = ("weight",) if is_llama else ("weight", "bias")
    shapes = {"attn.qkv": ((HEADS + 2 * groups) * d, WIDTH), "attn.proj": (WIDTH, WIDTH), "norm_1": (WIDTH,)}
    shapes |= {"norm_2": (WIDTH,), "mlp.proj": (WIDTH, inner)}
    if is_gemma:
        shapes |= {"post_attention_norm": (WIDTH,), "post_mlp_norm": (WIDTH,), "attn.norm_q": (d,), "attn.norm_k": (d,)}
    shapes |= dict.fromkeys(("mlp.fc_1", "mlp.fc_2") if is_llama else ("mlp.fc",), (inner, WIDTH))
    named = {f"transformer.h.{i}.{name}": shape for i in range(LAYERS) for name, shape in shapes.items()}
    w = {
        f"{name}.{part}": rand(*(shape if part == "weight" else shape[:1]))
        for name, shape in (named | {"transformer.ln_f": (WIDTH,)}).items()
        for part in parts
    }
    w |= {"transformer.wte.weight": rand(VOCAB, WIDTH), "lm_head.weight": rand(VOCAB, WIDTH)}
    saved = dict(w)
    for key in [key for key in w if ".attn.qkv." in key] if is_old else []:  # each group's queries, key and value
        q, k, v = saved.pop(key).split([WIDTH, groups * d, groups * d])
        turns = [part.unflatten(0, (groups, -1)) for part in (q, k, v)]
        saved[key.replace(".attn.qkv.", ".attn.attn.")] = torch.cat(turns, dim=1).flatten(0, 1)
    torch.save({"model": saved} if is_old else saved, tmp_path / "lit_model.pth")
    values = {"name": "own", "hf_config": {}, "block_size": LENGTH, "n_layer": LAYERS, "n_head": HEADS, "n_embd": WIDTH}
    values |= {"vocab_size": VOCAB - 3, "padded_vocab_size": VOCAB, "n_query_groups": groups, "head_size": d}
    values |= {"rope_base": 500, "rotary_percentage": 1.0 if is_llama else 0.34, "intermediate_size": inner}
    values |= {"norm_class_name": "RMSNorm" if is_llama else "LayerNorm", "bias": not is_llama, "n_expert": 0}
    values |= {"mlp_class_name": "LLaMAMLP" if is_llama else "GptNeoxMLP", "parallel_residual": not is_llama}
    if is_gemma:
        values |= {"name": "Gemma-3-own", "mlp_class_name": "GemmaMLP", "gelu_approximate": "tanh", "norm_qk": True}
        values |= {"scale_embeddings": True, "post_attention_norm": True, "post_mlp_norm": True}
        values |= {"attention_scores_scalar": 30, "sliding_window_size": 7, "sliding_window_indices": [1, 0]}
        values |= {"final_logit_softcapping": 30.0, "attention_logit_softcapping": None}
    (tmp_path / "model_config.yaml").write_text(yaml.dump(values))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')  # of the model that it was made from

    def linear(x: Tensor, name: str) -> Tensor:
        return F.linear(x, w[f"{name}.weight"], w.get(f"{name}.bias"))

    def norm(x: Tensor, name: str) -> Tensor:
        weight = w[f"{name}.weight"] + (1 if is_gemma else 0)
        return rms(x, weight) if is_llama else F.layer_norm(x, (WIDTH,), weight, w[f"{name}.bias"])

    def forward(tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x, patterns = w["transformer.wte.weight"][tokens] * (WIDTH**0.5 if is_gemma else 1), []
        for i in range(LAYERS):
            h = f"transformer.h.{i}"
            q, k, v = linear(norm(x, f"{h}.norm_1"), f"{h}.attn.qkv").split([WIDTH, groups * d, groups * d], dim=-1)
            q, k, v = split(q, HEADS), split(k, groups), split(v, groups)
            if is_gemma:
                q, k = norm(q, f"{h}.attn.norm_q") * (d / 30) ** 0.5, norm(k, f"{h}.attn.norm_k")
            q, k = (rotate(part, 500, n=d if is_llama else 4) for part in (q, k))
            z, pattern = attend(q, k, v, window=7 if is_gemma and i == 0 else None)
            patterns.append(pattern)
            z = linear(z, f"{h}.attn.proj")
            attended = x + (norm(z, f"{h}.post_attention_norm") if is_gemma else z)
            y = norm(attended if is_llama else x, f"{h}.norm_2")
            if is_llama:
                gate = linear(y, f"{h}.mlp.fc_1")
                gate = F.gelu(gate, approximate="tanh") if is_gemma else F.silu(gate)
                y = gate * linear(y, f"{h}.mlp.fc_2")
            else:
                y = F.gelu(linear(y, f"{h}.mlp.fc"))
            y = linear(y, f"{h}.mlp.proj")
            x = attended + (norm(y, f"{h}.post_mlp_norm") if is_gemma else y)
        logits = norm(x, "transformer.ln_f") @ w["lm_head.weight"].T
        return 30 * torch.tanh(logits / 30) if is_gemma else logits, patterns

    return tmp_path / "lit_model.pth", {}, forward


@case
def litgpt_llama(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    return litgpt(tmp_path, is_llama=True)


@case
def litgpt_old_llama(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    return litgpt(tmp_path, is_llama=True, is_old=True)


@case
def litgpt_old_neox(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    return litgpt(tmp_path, is_llama=False, is_old=True)


@case
def litgpt_gemma(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    return litgpt(tmp_path, is_llama=True, is_gemma=True)


@case
def litgpt_neox_without_yaml(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    path, _, forward = litgpt(tmp_path, is_llama=False)
    (tmp_path / "model_config.yaml").unlink()
    (tmp_path / "config.json").unlink()
    options = {"n_heads": HEADS, "rotary_base": 500, "rotary_fraction": 0.34, "parallel_residual": True}
    return path, options, forward


@case
def nanochat(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
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


def transformer_lens(tmp_path: Path, *, is_folded: bool, **changes: Any) -> tuple[Path, dict[str, Any], Forward]:
    """Matrices per head, as x @ W; folded normalizations only center and scale, or RoPE and a gate of Llama."""
    d, inner, is_rotary = 10, 70, not is_folded
    groups = 2 if is_rotary else HEADS
    w = {"embed.W_E": rand(VOCAB, WIDTH), "unembed.W_U": rand(WIDTH, VOCAB - 1), "unembed.b_U": rand(VOCAB - 1)}
    w |= {} if is_rotary else {"pos_embed.W_pos": rand(LENGTH, WIDTH)}
    w |= {"ln_final.w": rand(WIDTH)} if is_rotary else {}
    angles = torch.arange(LENGTH)[:, None] / 300 ** (torch.arange(0, d, 2) / d)
    tables = {"rotary_sin": angles.sin().repeat(1, 2), "rotary_cos": angles.cos().repeat(1, 2)}
    buffers: dict[str, Tensor] = {}
    for i in range(LAYERS):
        block = f"blocks.{i}"
        for name, n in (("Q", HEADS), ("K", groups), ("V", groups)):
            sign = "_" if is_rotary and name != "Q" else ""
            w |= {f"{block}.attn.{sign}W_{name}": rand(n, WIDTH, d), f"{block}.attn.{sign}b_{name}": rand(n, d)}
        w |= {f"{block}.attn.W_O": rand(HEADS, d, WIDTH), f"{block}.attn.b_O": rand(WIDTH)}
        w |= {f"{block}.mlp.W_in": rand(WIDTH, inner), f"{block}.mlp.b_in": rand(inner)}
        w |= {f"{block}.mlp.W_out": rand(inner, WIDTH), f"{block}.mlp.b_out": rand(WIDTH)}
        if is_rotary:
            w |= {
                f"{block}.mlp.W_gate": rand(WIDTH, inner),
                f"{block}.ln1.w": rand(WIDTH),
                f"{block}.ln2.w": rand(WIDTH),
            }
            buffers |= {f"{block}.attn.{name}": table for name, table in tables.items()}
        buffers |= {f"{block}.attn.mask": torch.ones(LENGTH, LENGTH).tril().bool()}
        buffers |= {f"{block}.attn.IGNORE": torch.tensor(-torch.inf)}
    torch.save(w | buffers, tmp_path / "model.pth")

    def norm(x: Tensor, name: str) -> Tensor:
        return rms(x, w[f"{name}.w"]) if is_rotary else F.layer_norm(x, (WIDTH,))

    def forward(tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x, patterns = w["embed.W_E"][tokens], []
        x = x if is_rotary else x + w["pos_embed.W_pos"][: tokens.shape[1]]
        for i in range(LAYERS):
            h = norm(x, f"blocks.{i}.ln1")[:, None]
            attn, mlp = (
                {key.split(".")[-1].lstrip("_"): w[key] for key in w if f"blocks.{i}.{part}." in key}
                for part in ("attn", "mlp")
            )
            q, k, v = (h @ attn[f"W_{name}"] + attn[f"b_{name}"][:, None] for name in "QKV")
            q, k = (rotate(part, 300) if is_rotary else part for part in (q, k))
            z, pattern = attend(q, k, v)
            patterns.append(pattern)
            x = x + z @ attn["W_O"].flatten(0, 1) + attn["b_O"]
            h = norm(x, f"blocks.{i}.ln2")
            if is_rotary:
                h = F.silu(h @ mlp["W_gate"]) * (h @ mlp["W_in"]) + mlp["b_in"]
            else:
                h = F.gelu(h @ mlp["W_in"] + mlp["b_in"], approximate="tanh")
            x = x + h @ mlp["W_out"] + mlp["b_out"]
        logits = norm(x, "ln_final") @ w["unembed.W_U"] + w["unembed.b_U"]
        return F.pad(logits, (0, 1), value=-1e4), patterns

    return tmp_path / "model.pth", changes, forward


@case
def transformer_lens_folded(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    return transformer_lens(tmp_path, is_folded=True, norm="layer_without_bias", activation="gelu_tanh")


@case
def transformer_lens_llama(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    return transformer_lens(tmp_path, is_folded=False, activation="silu", parallel_residual=False)


@case
def transformer_lens_with_cfg(tmp_path: Path) -> tuple[Path, dict[str, Any], Forward]:
    cfg = {"n_ctx": LENGTH, "act_fn": "gelu_new", "normalization_type": "LNPre", "attn_only": False, "eps": 1e-5}
    (tmp_path / "cfg.json").write_text(json.dumps({**cfg, "attention_dir": "causal", "use_attn_scale": True}))
    path, _, forward = transformer_lens(tmp_path, is_folded=True)
    return path, {}, forward


def of_the_book(
    tmp_path: Path, variant: str, options: dict[str, Any], config: dict[str, Any]
) -> tuple[Path, dict[str, Any], Forward]:
    """The four kinds of models with fc1, fc2 and fc3; their normalizations have other names and places."""
    groups, d, inner, base = (HEADS if variant == "llama2" else 2), WIDTH // HEADS, 70, 1e6
    before = {"llama2": ("norm1", "norm2"), "llama3": ("norm1", "norm2"), "qwen3": ("norm1", "norm2")}
    before["gemma3"] = ("input_layernorm", "pre_feedforward_layernorm")
    after = ("post_attention_layernorm", "post_feedforward_layernorm")
    gain = "scale" if variant in ("qwen3", "gemma3") else "weight"
    blocks = "trf_blocks" if before.get(variant, ("",))[0] == "norm1" else "blocks"
    w = {"tok_emb.weight": rand(VOCAB, WIDTH), "out_head.weight": rand(VOCAB, WIDTH)}
    w[f"final_norm.{gain}"] = rand(WIDTH)
    buffers: dict[str, Tensor] = {}
    for i in range(LAYERS):
        block = f"{blocks}.{i}"
        for name, n in (("W_query", HEADS), ("W_key", groups), ("W_value", groups), ("out_proj", HEADS)):
            w[f"{block}.att.{name}.weight"] = rand(n * d, WIDTH)
        w |= {f"{block}.ff.fc{n}.weight": rand(inner, WIDTH) for n in (1, 2)}
        w[f"{block}.ff.fc3.weight"] = rand(WIDTH, inner)
        norms = (*before.get(variant, ()), *(after if variant in ("gemma3", "olmo3") else ()))
        w |= {f"{block}.{name}.{gain}": rand(WIDTH) for name in norms}
        if variant in ("qwen3", "gemma3", "olmo3"):
            widths = (HEADS * d, groups * d) if variant == "olmo3" else (d, d)
            w |= {f"{block}.att.{name}_norm.{gain}": rand(n) for name, n in zip("qk", widths, strict=True)}
        if variant == "llama2":
            base = 300.0
            angles = torch.arange(LENGTH)[:, None] / base ** (torch.arange(0, d, 2) / d)
            buffers |= {f"{block}.att.cos": angles.cos().repeat(1, 2), f"{block}.att.sin": angles.sin().repeat(1, 2)}
            buffers[f"{block}.att.mask"] = torch.ones(LENGTH, LENGTH).triu(1)
    torch.save(w | buffers, tmp_path / "model.pth")
    if config:
        (tmp_path / "config.json").write_text(json.dumps(config))

    def norm(x: Tensor, name: str) -> Tensor:
        weight = w[f"{name}.{gain}"]
        return rms(x, 1 + weight if variant == "gemma3" else weight, 1e-5 if "llama" in variant else 1e-6)

    def forward(tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        x, patterns = w["tok_emb.weight"][tokens] * (WIDTH**0.5 if variant == "gemma3" else 1), []
        for i in range(LAYERS):
            block = f"{blocks}.{i}"
            first, second = before.get(variant, (None, None))
            h = x if first is None else norm(x, f"{block}.{first}")
            q, k, v = (h @ w[f"{block}.att.W_{name}.weight"].T for name in ("query", "key", "value"))
            if variant == "olmo3":
                q, k = norm(q, f"{block}.att.q_norm"), norm(k, f"{block}.att.k_norm")
            q, k, v = split(q, HEADS), split(k, groups), split(v, groups)
            if variant in ("qwen3", "gemma3"):
                q, k = norm(q, f"{block}.att.q_norm"), norm(k, f"{block}.att.k_norm")
            is_local = variant == "gemma3" and i == 0
            q, k = (rotate(part, 10000 if is_local else base) for part in (q, k))
            z, pattern = attend(q, k, v, window=7 if is_local else None)
            patterns.append(pattern)
            z = z @ w[f"{block}.att.out_proj.weight"].T
            x = x + (norm(z, f"{block}.{after[0]}") if variant in ("gemma3", "olmo3") else z)
            h = x if second is None else norm(x, f"{block}.{second}")
            gate = h @ w[f"{block}.ff.fc1.weight"].T
            gate = F.gelu(gate, approximate="tanh") if variant == "gemma3" else F.silu(gate)
            h = (gate * (h @ w[f"{block}.ff.fc2.weight"].T)) @ w[f"{block}.ff.fc3.weight"].T
            x = x + (norm(h, f"{block}.{after[1]}") if variant in ("gemma3", "olmo3") else h)
        return norm(x, "final_norm") @ w["out_head.weight"].T, patterns

    return tmp_path / "model.pth", options, forward


LLAMA3 = {"n_heads": HEADS, "rotary_base": 1e6, "rotary_scaling": "none"}
WITH_WINDOW = {"sliding_window": 7, "layer_types": ["sliding_attention", "full_attention"]}
PLAIN_ROPE = {"rotary_scaling": "none", "rotary_base": 1e6, "d_head": WIDTH // HEADS}
PLAIN_ROPE |= {"rotary_scaling_factor": 1.0, "rotary_high_freq_factor": 4.0}
for variant, options, config in (
    ("llama2", {}, {}),
    ("llama3", LLAMA3, {}),
    ("qwen3", {}, {}),
    ("gemma3", {}, WITH_WINDOW),
    ("olmo3", {}, PLAIN_ROPE),
):
    CASES[variant] = partial(of_the_book, variant=variant, options=options, config=config)


@pytest.mark.parametrize("name", CASES)
def test_logits_and_patterns(name: str, tmp_path: Path):
    path, options, forward = CASES[name](tmp_path)
    if options:
        with pytest.raises(UndecidedError) as caught:
            tc.load(path)
        assert {question.option for question in caught.value.questions} == options.keys()
    model = tc.load(path, options=options)[0]
    for source in (path, tmp_path):
        model = tc.load(source, options=options)[0]
    for n in (9, 80):
        tokens = torch.randint(0, VOCAB, (2, n))
        with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
            logits = model(tokens)
        expected, patterns = forward(tokens)
        assert expected.std() > 0.5
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5 * expected.max().item())
        for i, pattern in enumerate(patterns):
            torch.testing.assert_close(acts[f"decoder.blocks.{i}.self_attn.hook_pattern"], pattern, rtol=0, atol=1e-5)


def test_the_characters_of_a_microgpt(tmp_path: Path):
    path, options, _ = microgpt(tmp_path, is_first=False)
    content = json.loads(path.read_text())
    characters = [chr(65 + i) for i in range(VOCAB - 1)]
    for vocabulary, bos in ((characters, VOCAB - 1), (["<bos>", *characters], 0)):
        path.write_text(json.dumps({"_vocab": vocabulary, **content}))
        notes: list[Any] = []
        model, tokenizer = tc.load(path, options=options, on_note=notes.append)
        assert (model.config.bos_id, model.config.eos_id, tokenizer.eos_id) == (bos, bos, bos)
        ids = tokenizer.encode_for("BA", "decoder_only")
        assert ids == [bos, 1 + (bos == 0), bos == 0] and tokenizer.decode([*ids, bos]) == "BA"
        assert tokenizer.labels(ids) == ["<bos>", "B", "A"]
        tokenizer.save(tmp_path / "saved")
        assert load_tokenizer(tmp_path / "saved").decode([*ids, bos]) == "BA"
        assert len(notes) == 1  # on the number of heads
    nested = {"config": {"n_head": 2, "n_embd": WIDTH}, "uchars": characters, "state_dict": content}
    path.write_text(json.dumps(nested))
    model, tokenizer = tc.load(path, options=options)
    assert (model.config.n_heads, tokenizer.vocab_size) == (2, VOCAB)
    path.write_text(json.dumps({"_vocab": characters[:7], **content}))
    assert tc.load(path, options=options)[1].kind == "ids"


def test_later_versions_of_nanochat_are_refused_with_their_date(tmp_path: Path):
    path, _, _ = nanochat(tmp_path)
    weights = torch.load(path)
    (tmp_path / "tokenizer.pkl").write_bytes(pickle.dumps(Hostile(tmp_path / "ran")))
    notes: list[Any] = []
    tc.load(tmp_path, on_note=notes.append)
    assert "a pickled object of tiktoken" in str(notes) and not (tmp_path / "ran").exists()
    for key, day in (
        ("resid_lambdas", "2026-01-11"),
        ("value_embeds.1.weight", "2026-01-16"),
        ("smear_gate", "2026-03-14"),
    ):
        weights[f"_orig_mod.{key}"] = torch.ones(2)
        torch.save(weights, path)
        with pytest.raises(CheckpointError, match=f"{key}' is a part that nanochat has had since {day}"):
            tc.load(path)


def test_sizes_of_published_models_need_no_answer(tmp_path: Path):
    """The tensors are on the device "meta": only their shapes count."""
    block = {f"att.W_{name}": (2048 if name == "query" else 512, 2048) for name in ("query", "key", "value")}
    block |= {"att.out_proj": (2048, 2048), "ff.fc1": (8192, 2048), "ff.fc2": (8192, 2048), "ff.fc3": (2048, 8192)}
    block |= {"norm1": (2048,), "norm2": (2048,)}
    shapes = {f"trf_blocks.{i}.{name}": shape for i in range(16) for name, shape in block.items()}
    shapes |= {"tok_emb": (128256, 2048), "out_head": (128256, 2048), "final_norm": (2048,)}
    weights = {f"{name}.weight": torch.empty(shape, device="meta") for name, shape in shapes.items()}
    saved = SavedModel(folder=tmp_path, paths=(), config={}, other={}, weights=weights)
    opened = open_saved(saved, StateDict({}), where="Llama 3.2 1B")
    config = family_of(opened.values, where="").config(opened.values)
    assert (config.n_heads, config.n_kv_heads, config.rotary_base) == (32, 8, 500000)
    assert (config.rotary_scaling, config.rotary_scaling_factor, config.rotary_original_len) == ("llama3", 32, 8192)
    assert len(opened.notes) == 4  # on heads, the base and the scaling of RoPE, and the length of texts
