"""A Hugging Face folder written by hand, quicker than by the `transformers` library: a GPT-2 of one block."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

WORDS = ("<|endoftext|>", "the", "cat", "sees", "a", "dog", "because", "it", "was", "too", ".")


def save_small_gpt2(folder: Path) -> None:
    """Write config.json, model.safetensors with random weights, and a tokenizer.json of eleven words."""
    d_model, d_ff, n_positions = 8, 12, 16
    sizes = {"n_embd": d_model, "n_inner": d_ff, "n_positions": n_positions, "n_head": 2, "n_layer": 1}
    tokens = {"vocab_size": len(WORDS), "bos_token_id": 0, "eos_token_id": 0}
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(
        json.dumps({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], **sizes, **tokens})
    )
    shapes = {
        **{"wte.weight": (len(WORDS), d_model), "wpe.weight": (n_positions, d_model)},
        **{f"{norm}.{part}": (d_model,) for norm in ("h.0.ln_1", "h.0.ln_2", "ln_f") for part in ("weight", "bias")},
        **{"h.0.attn.c_attn.weight": (d_model, 3 * d_model), "h.0.attn.c_attn.bias": (3 * d_model,)},
        **{"h.0.attn.c_proj.weight": (d_model, d_model), "h.0.attn.c_proj.bias": (d_model,)},
        **{"h.0.mlp.c_fc.weight": (d_model, d_ff), "h.0.mlp.c_fc.bias": (d_ff,)},
        **{"h.0.mlp.c_proj.weight": (d_ff, d_model), "h.0.mlp.c_proj.bias": (d_model,)},
    }
    generator = torch.Generator().manual_seed(5)
    weights = {f"transformer.{name}": torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    save_file(weights, folder / "model.safetensors")
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    special = {"id": 0, "content": WORDS[0], "single_word": False, "lstrip": False, "rstrip": False}
    (folder / "tokenizer.json").write_text(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [{**special, "normalized": False, "special": True}],
                "pre_tokenizer": {"type": "Whitespace"},
                "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "the"},
            }
        )
    )
