"""Further small language models from scratch: those of programs whose models differ by options."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor
from torch.nn import functional as F

from tests.checkpoints.programs import (
    CASES,
    HEADS,
    LAYERS,
    LENGTH,
    VOCAB,
    WIDTH,
    Case,
    attend,
    case,
    rand,
    rms,
    rotate,
    split,
)


def litgpt(tmp_path: Path, *, is_llama: bool, is_old: bool = False, is_gemma: bool = False) -> Case:
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
def litgpt_llama(tmp_path: Path) -> Case:
    return litgpt(tmp_path, is_llama=True)


@case
def litgpt_old_llama(tmp_path: Path) -> Case:
    return litgpt(tmp_path, is_llama=True, is_old=True)


@case
def litgpt_old_neox(tmp_path: Path) -> Case:
    return litgpt(tmp_path, is_llama=False, is_old=True)


@case
def litgpt_gemma(tmp_path: Path) -> Case:
    return litgpt(tmp_path, is_llama=True, is_gemma=True)


@case
def litgpt_neox_without_yaml(tmp_path: Path) -> Case:
    path, _, forward = litgpt(tmp_path, is_llama=False)
    (tmp_path / "model_config.yaml").unlink()
    (tmp_path / "config.json").unlink()
    options = {"n_heads": HEADS, "rotary_base": 500, "rotary_fraction": 0.34, "parallel_residual": True}
    return path, options, forward


def transformer_lens(tmp_path: Path, *, is_folded: bool, **changes: Any) -> Case:
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
def transformer_lens_folded(tmp_path: Path) -> Case:
    return transformer_lens(tmp_path, is_folded=True, norm="layer_without_bias", activation="gelu_tanh")


@case
def transformer_lens_llama(tmp_path: Path) -> Case:
    return transformer_lens(tmp_path, is_folded=False, activation="silu", parallel_residual=False)


@case
def transformer_lens_with_cfg(tmp_path: Path) -> Case:
    cfg = {"n_ctx": LENGTH, "act_fn": "gelu_new", "normalization_type": "LNPre", "attn_only": False, "eps": 1e-5}
    (tmp_path / "cfg.json").write_text(json.dumps({**cfg, "attention_dir": "causal", "use_attn_scale": True}))
    path, _, forward = transformer_lens(tmp_path, is_folded=True)
    return path, {}, forward


def of_the_book(tmp_path: Path, variant: str, options: dict[str, Any], config: dict[str, Any]) -> Case:
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
