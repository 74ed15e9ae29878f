"""Checkpoints of x-transformers, against its mathematics written out for the tensors of a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import transformer_core as tc
from transformer_core.checkpoints.layout import UndecidedError
from transformer_core.errors import CheckpointError

D, N_TOKENS, N_POSITIONS, D_HEAD = 24, 50, 96, 8


def stack(
    order: str, *, gain: str = "gamma", place: int = 0, n_kv: int = 3, is_gated: bool = False, offset: float = 0.0
):
    """Random tensors of a stack; `order` has a letter per sub-layer: (a)ttention, (c)ross-attention, (f)eed-forward."""

    def random(*shape: int) -> Tensor:
        return torch.randn(shape) * shape[-1] ** -0.5

    tensors = {"token_emb.emb.weight": random(N_TOKENS, D) * 5, "to_logits.weight": random(N_TOKENS, D)}
    for i, kind in enumerate(order):
        at = f"attn_layers.layers.{i}"
        tensors[f"{at}.0.{place}.{gain}"] = offset + random(D) * 0.3
        if kind == "f":
            up = "0.proj" if is_gated else "0.0"
            tensors[f"{at}.1.ff.{up}.weight"] = random(80 if is_gated else 40, D)
            tensors[f"{at}.1.ff.{up}.bias"] = random(80 if is_gated else 40)
            tensors |= {f"{at}.1.ff.2.weight": random(D, 40), f"{at}.1.ff.2.bias": random(D)}
        else:
            sizes = {
                "to_q": (3 * D_HEAD, D),
                "to_k": (n_kv * D_HEAD, D),
                "to_v": (n_kv * D_HEAD, D),
                "to_out": (D, 3 * D_HEAD),
            }
            tensors |= {f"{at}.1.{name}.weight": random(*size) for name, size in sizes.items()}
    if place == 0:
        tensors[f"attn_layers.final_norm.{gain}"] = offset + random(D) * 0.3
    return tensors


def learned() -> dict[str, Tensor]:
    return {"pos_emb.emb.weight": torch.randn(N_POSITIONS, D)}


def run(
    tensors: dict[str, Tensor], tokens: Tensor, *, is_causal: bool, memory: Tensor | None = None, act: Callable = F.gelu
) -> tuple[Tensor, list[Tensor]]:
    """The final states of a stack, and its patterns."""
    n, patterns = tokens.shape[1], []
    x = tensors["token_emb.emb.weight"][tokens]
    if "pos_emb.emb.weight" in tensors:
        x = x + tensors["pos_emb.emb.weight"][:n] * D**-0.5
    is_minus_one = tensors[next(key for key in tensors if key.endswith(("gamma", ".g")))].mean() < 0.5

    def norm(h: Tensor, at: str) -> Tensor:
        kind = "gamma" if f"{at}.gamma" in tensors else "g"
        scaled = F.layer_norm(h, (D,)) if kind == "gamma" else F.normalize(h, dim=-1) * D**0.5
        return scaled * (tensors[f"{at}.{kind}"] + float(is_minus_one))

    def turned(part: Tensor) -> Tensor:
        """Rotate neighbouring dimensions of queries or keys by their positions."""
        if "attn_layers.rotary_pos_emb.inv_freq" not in tensors:
            return part
        angle = torch.arange(n)[:, None] * tensors["attn_layers.rotary_pos_emb.inv_freq"]
        n_turned = 2 * angle.shape[1]
        even, odd = part[..., :n_turned:2], part[..., 1:n_turned:2]
        pairs = even * angle.cos() - odd * angle.sin(), odd * angle.cos() + even * angle.sin()
        return torch.cat([torch.stack(pairs, -1).flatten(-2), part[..., n_turned:]], -1)

    def attend(h: Tensor, at: str, is_cross: bool) -> Tensor:
        of = memory if is_cross and memory is not None else h
        inputs = {"q": h, "k": of, "v": of}
        q, k, v = (
            (inputs[name] @ tensors[f"{at}.to_{name}.weight"].T).unflatten(-1, (-1, D_HEAD)).transpose(1, 2)
            for name in inputs
        )
        q, k = (q, k) if is_cross else (turned(q), turned(k))
        k, v = (part.repeat_interleave(3 // part.shape[1], 1) for part in (k, v))
        scores = q @ k.transpose(-2, -1) * D_HEAD**-0.5
        if is_causal and not is_cross:
            scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
        patterns.append(scores.softmax(-1))
        return (patterns[-1] @ v).transpose(1, 2).flatten(2) @ tensors[f"{at}.to_out.weight"].T

    def feed_forward(h: Tensor, at: str) -> Tensor:
        if f"{at}.ff.0.proj.weight" in tensors:
            up, gate = F.linear(h, tensors[f"{at}.ff.0.proj.weight"], tensors[f"{at}.ff.0.proj.bias"]).chunk(2, -1)
            hidden = up * act(gate)
        else:
            hidden = act(F.linear(h, tensors[f"{at}.ff.0.0.weight"], tensors[f"{at}.ff.0.0.bias"]))
        return F.linear(hidden, tensors[f"{at}.ff.2.weight"], tensors[f"{at}.ff.2.bias"])

    n_attended = 0
    for i in range(len({key.split(".")[2] for key in tensors if ".layers." in key})):
        at = f"attn_layers.layers.{i}"
        is_pre = any(key.startswith(f"{at}.0.0.") for key in tensors)
        h = norm(x, f"{at}.0.0") if is_pre else x
        if f"{at}.1.to_q.weight" in tensors:
            n_attended += 1
            x = x + attend(h, f"{at}.1", memory is not None and n_attended % 2 == 0)
        else:
            x = x + feed_forward(h, f"{at}.1")
        x = x if is_pre else norm(x, f"{at}.0.2")
    final = "attn_layers.final_norm"
    return norm(x, final) if any(key.startswith(final) for key in tensors) else x, patterns


ROTARY = {"attn_layers.rotary_pos_emb.inv_freq": 500.0 ** (-torch.arange(0, 4, 2) / 4)}
SINGLE: dict[str, tuple[Callable[[], dict[str, Tensor]], dict[str, Any]]] = {
    "decoder": (lambda: stack("afaf") | learned(), {"architecture": "decoder_only"}),
    "decoder, rotary, gates": (
        lambda: stack("afaf", gain="g", n_kv=1, is_gated=True) | ROTARY,
        {"architecture": "decoder_only", "activation": "silu"},
    ),
    "decoder, older": (
        lambda: stack("afaf", offset=1.0) | ROTARY,
        {"architecture": "decoder_only", "positions": "rotary_interleaved"},
    ),
    "encoder, post-norm": (lambda: stack("afaf", place=2) | learned(), {"architecture": "encoder_only"}),
}


@pytest.mark.parametrize("name", SINGLE)
def test_one_stack(name: str, tmp_path: Path):
    torch.manual_seed(0)
    tensors, options = SINGLE[name][0](), SINGLE[name][1] | {"n_heads": 3}
    torch.save({f"net.{key}": tensor for key, tensor in tensors.items()}, tmp_path / "model.pt")
    with pytest.raises(UndecidedError) as caught:
        tc.load(tmp_path / "model.pt")
    assert {question.option for question in caught.value.questions} == options.keys()
    ours, _ = tc.load(tmp_path / "model.pt", options=options)
    for n in (9, 80):
        tokens = torch.randint(0, N_TOKENS, (2, n))
        act = F.silu if "activation" in options else F.gelu
        states, patterns = run(tensors, tokens, is_causal="decoder" in name, act=act)
        with torch.inference_mode(), tc.capture(ours, "*.hook_pattern") as acts:
            torch.testing.assert_close(ours(tokens), states @ tensors["to_logits.weight"].T, rtol=0, atol=1e-5)
        for pattern, expected in zip(acts.values(), patterns, strict=True):
            torch.testing.assert_close(pattern, expected, rtol=0, atol=1e-5)


def pair() -> dict[str, Tensor]:
    """The tensors of an XTransformer."""
    encoder, decoder = stack("afaf") | learned(), stack("acfacf") | learned()
    decoder |= {key: decoder[key][:41] for key in ("token_emb.emb.weight", "to_logits.weight")}
    del encoder["to_logits.weight"]
    prefixed = {f"encoder.{key}": tensor for key, tensor in encoder.items()}
    return prefixed | {f"decoder.net.{key}": tensor for key, tensor in decoder.items()}


def test_two_stacks(tmp_path: Path):
    torch.manual_seed(0)
    tensors = pair()
    torch.save(tensors, tmp_path / "model.pt")
    ours, _ = tc.load(tmp_path / "model.pt", options={"n_heads": 3, "bos_id": 1})
    encoder, decoder = (
        {key.removeprefix(prefix): tensor for key, tensor in tensors.items() if key.startswith(prefix)}
        for prefix in ("encoder.", "decoder.net.")
    )
    for n_src, n_tgt in ((9, 7), (80, 64)):
        src, tgt = torch.randint(0, N_TOKENS, (2, n_src)), torch.randint(0, 41, (2, n_tgt))
        memory, of_src = run(encoder, src, is_causal=False)
        states, of_tgt = run(decoder, tgt, is_causal=True, memory=memory)
        with torch.inference_mode(), tc.capture(ours, "*.hook_pattern") as acts:
            torch.testing.assert_close(ours(src, tgt), states @ decoder["to_logits.weight"].T, rtol=0, atol=1e-5)
        for pattern, expected in zip(acts.values(), [*of_src, *of_tgt], strict=True):
            torch.testing.assert_close(pattern, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("key", ["attn_layers.layers.0.1.mem_k", "memory_tokens", "attn_layers.layers.0.0.1.gamma"])
def test_tensors_of_other_options_are_refused_by_name(key: str, tmp_path: Path):
    torch.save(stack("af") | learned() | {key: torch.ones(3, D)}, tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match=f"contains '{key}'"):
        tc.load(tmp_path / "model.pt", options={"n_heads": 3, "architecture": "decoder_only"})
