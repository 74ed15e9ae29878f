"""Small decoder-only models with other norms, scales or caps."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from tests.checkpoints.small import MAX_POSITIONS, TOKENS, Small, decoder

LLAMA = {
    **TOKENS,
    **{"hidden_size": 36, "intermediate_size": 50, "num_hidden_layers": 3, "num_attention_heads": 3},
    **{"num_key_value_heads": 1, "max_position_embeddings": MAX_POSITIONS},
}
IN_KINDS = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 30.0},
    "full_attention": {"rope_type": "linear", "rope_theta": 300.0, "factor": 2.5},
}
GRANITE = {
    **LLAMA,
    **{"embedding_multiplier": 3.0, "logits_scaling": 0.4, "residual_multiplier": 0.6, "attention_multiplier": 0.5},
}
KINDS = ["full_attention", "sliding_attention", "sliding_attention"]
OLMO3 = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 300.0},
    "full_attention": {"rope_type": "yarn", "rope_theta": 300.0, "factor": 4.0, "original_max_position_embeddings": 24},
}
UNEVEN = {**LLAMA, "num_attention_heads": 6, "num_key_value_heads": 2, "hidden_size": 48}
GEMMA3 = {
    **LLAMA,
    "head_dim": 14,
    "sliding_window": 5,
    "query_pre_attn_scalar": 9,
    "rope_parameters": IN_KINDS,
    "layer_types": KINDS,
}
COHERE2 = {**LLAMA, "logit_scale": 0.7, "sliding_window": 5, "layer_types": KINDS}

_gemma = partial(decoder, "Gemma", "ForCausalLM", {**LLAMA, "head_dim": 14})
_gemma2 = partial(decoder, "Gemma2", "ForCausalLM", {**LLAMA, "head_dim": 14, "sliding_window": 5})
_granite = partial(decoder, "Granite", "ForCausalLM", GRANITE)
_stablelm = partial(decoder, "StableLm", "ForCausalLM", UNEVEN)
_cohere = partial(decoder, "Cohere", "ForCausalLM", {**UNEVEN, "logit_scale": 0.7})

SMALL: Mapping[str, Small] = {
    "gemma": _gemma(),
    "gemma2": _gemma2(query_pre_attn_scalar=9, attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
    "gemma2-uncapped": _gemma2(attn_logit_softcapping=None, final_logit_softcapping=None, attention_bias=True),
    "gemma3_text": Small("Gemma3TextConfig", "Gemma3ForCausalLM", GEMMA3, ("decoder",)),
    "olmo2": decoder("Olmo2", "ForCausalLM", UNEVEN),
    "olmo3": decoder(
        "Olmo3", "ForCausalLM", {**LLAMA, "sliding_window": 5, "rope_parameters": OLMO3, "layer_types": KINDS}
    ),
    "granite": replace(_granite(tie_word_embeddings=True), final_scale=3.0 * 0.4),
    "granite-untied": replace(_granite(attention_bias=True, mlp_bias=True), final_scale=0.4),
    "stablelm": _stablelm(use_qkv_bias=True),
    "stablelm-12b": _stablelm(use_parallel_residual=True, qk_layernorm=True),
    "cohere": replace(_cohere(), final_scale=1 / 0.7),
    "cohere-plus": replace(
        _cohere(use_qk_norm=True, attention_bias=True, tie_word_embeddings=False), final_scale=1 / 0.7
    ),
    "cohere2": replace(decoder("Cohere2", "ForCausalLM", COHERE2), final_scale=1 / 0.7),
    "nanochat": decoder("NanoChat", "ForCausalLM", {**UNEVEN, "final_logit_softcapping": 2.0}),
}
