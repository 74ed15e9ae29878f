"""The same decoder as transformers' GPT-2, for comparisons with its `generate`."""

from typing import Any

import torch

import transformer_core as tc


def as_gpt2(model: tc.Transformer, transformers: Any) -> Any:
    """Return a GPT2LMHeadModel with the weights of a pre-norm decoder with learned positions."""
    config = model.config
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=config.vocab_size,
            n_positions=config.max_seq_len,
            n_embd=config.d_model,
            n_layer=config.n_decoder_layers,
            n_head=config.n_heads,
            n_inner=config.d_ff,
            activation_function="relu",
            tie_word_embeddings=False,
            bos_token_id=config.bos_id,
            eos_token_id=config.eos_id,
            pad_token_id=config.pad_id,
            bad_words_ids=[[config.pad_id]],
        )
    ).eval()
    ours = model.state_dict()
    values = {
        "transformer.wte.weight": ours["decoder.embed.weight"],
        "transformer.wpe.weight": ours["decoder.pos_embed.table"],
        "transformer.ln_f.weight": ours["decoder.ln_final.weight"],
        "transformer.ln_f.bias": ours["decoder.ln_final.bias"],
        "lm_head.weight": ours["unembed.weight"],
    }
    for i in range(config.n_decoder_layers):
        block, theirs_block = f"decoder.blocks.{i}", f"transformer.h.{i}"
        for part in ("weight", "bias"):
            q_k_v = torch.cat([ours[f"{block}.self_attn.{name}.{part}"] for name in "qkv"])
            values[f"{theirs_block}.attn.c_attn.{part}"] = q_k_v.t()
            for mine, name in {"self_attn.out": "attn.c_proj", "mlp.up": "mlp.c_fc", "mlp.down": "mlp.c_proj"}.items():
                values[f"{theirs_block}.{name}.{part}"] = ours[f"{block}.{mine}.{part}"].t()
            for mine, name in {"ln1": "ln_1", "ln2": "ln_2"}.items():
                values[f"{theirs_block}.{name}.{part}"] = ours[f"{block}.{mine}.{part}"]
    theirs.load_state_dict(values)
    return theirs
