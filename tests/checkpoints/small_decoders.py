"""Small decoder-only models with other positions, windows or parallel blocks."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from tests.checkpoints.small import TOKENS, Small, decoder

N_POSITIONS = 100
NAMES_OF_GPT = {"n_positions": N_POSITIONS, "n_embd": 36, "n_layer": 3, "n_head": 3}
NAMES_OF_LLAMA = {
    **{"hidden_size": 36, "intermediate_size": 50, "num_hidden_layers": 3, "num_attention_heads": 3},
    **{"max_position_embeddings": N_POSITIONS},
}
GPT_NEO = {
    **TOKENS,
    **{"hidden_size": 36, "intermediate_size": 50, "num_layers": 3, "num_heads": 3, "window_size": 4},
    **{"max_position_embeddings": N_POSITIONS, "attention_types": [[["global", "local"], 1], [["local"], 1]]},
}
OPT = {
    **TOKENS,
    **{"hidden_size": 36, "ffn_dim": 50, "num_hidden_layers": 3, "num_attention_heads": 3},
    **{"max_position_embeddings": N_POSITIONS, "word_embed_proj_dim": 36},
}
BLOOM = {**TOKENS, "hidden_size": 36, "n_layer": 3, "n_head": 3}
FALCON = {
    **TOKENS,
    **{"hidden_size": 36, "num_hidden_layers": 3, "num_attention_heads": 3, "ffn_hidden_size": 50},
    **{"max_position_embeddings": N_POSITIONS},
}
FALCON_40B: dict[str, Any] = {"new_decoder_architecture": True, "num_attention_heads": 6, "num_kv_heads": 2}
MPT = {**TOKENS, "d_model": 36, "n_layers": 3, "n_heads": 3, "max_seq_len": N_POSITIONS}

_gpt2 = partial(decoder, "GPT2", "LMHeadModel", {**TOKENS, **NAMES_OF_GPT, "n_inner": 50})
_gptj = partial(decoder, "GPTJ", "ForCausalLM", {**TOKENS, **NAMES_OF_GPT, "n_inner": 50, "rotary_dim": 6})
_gpt_neo = partial(decoder, "GPTNeo", "ForCausalLM", GPT_NEO)
_opt = partial(decoder, "OPT", "ForCausalLM", OPT)
_falcon = partial(decoder, "Falcon", "ForCausalLM", FALCON)
_big_code = partial(decoder, "GPTBigCode", "ForCausalLM", {**TOKENS, **NAMES_OF_GPT, "n_inner": 50})
_phi = partial(decoder, "Phi", "ForCausalLM", {**TOKENS, **NAMES_OF_LLAMA})


def _llama(family: str, **changes: Any) -> Small:
    return decoder(family, "ForCausalLM", {**TOKENS, **NAMES_OF_LLAMA}, **changes)


def _yarn(**changes: Any) -> dict[str, Any]:
    """Some pairs of a head are unchanged, one is in between, and the last ones are scaled."""
    yarn = {"rope_type": "yarn", "rope_theta": 30.0, "factor": 4.0, "original_max_position_embeddings": 24}
    return {"num_key_value_heads": 1, "rope_parameters": yarn | changes}


LONGROPE: dict[str, Any] = {
    "rope_parameters": {
        **{"rope_type": "longrope", "rope_theta": 300.0, "short_factor": [1.0, 1.3, 2.5, 4.0, 5.0]},
        **{"long_factor": [9.0] * 5, "partial_rotary_factor": 0.84},
    },
    "original_max_position_embeddings": 90,
}
NO_ROPE: dict[str, Any] = {
    "rope_parameters": {"rope_type": "default", "rope_theta": 300.0},
    "no_rope_layers": [1, 0, 1],
}

SMALL: Mapping[str, Small] = {
    "gpt2-divided": _gpt2(scale_attn_by_inverse_layer_idx=True),
    "gptj": _gptj(),
    "gpt_neo": _gpt_neo(),
    "opt": _opt(),
    "opt-350m": _opt(do_layer_norm_before=False, enable_bias=False, word_embed_proj_dim=20),
    "opt-350m-own-head": _opt(word_embed_proj_dim=20, tie_word_embeddings=False),
    "bloom": decoder("Bloom", "ForCausalLM", BLOOM),
    "falcon": _falcon(),
    "falcon-40b": _falcon(**FALCON_40B),
    "falcon-11b": _falcon(**FALCON_40B, num_ln_in_parallel_attn=1),
    "mpt": decoder("Mpt", "ForCausalLM", MPT),
    "gpt_bigcode": _big_code(),
    "gpt_bigcode-multi-head": _big_code(multi_query=False),
    "phi": _phi(num_key_value_heads=1, qk_layernorm=True),
    "phi3": _llama("Phi3", **LONGROPE, num_key_value_heads=1, sliding_window=5),
    "smollm3": _llama("SmolLM3", **NO_ROPE, num_key_value_heads=1, use_sliding_window=True, sliding_window=4),
    "llama-yarn": _llama("Llama", **_yarn(beta_fast=2.0, beta_slow=0.5)),
    "qwen3-yarn": _llama("Qwen3", head_dim=14, **_yarn(attention_factor=1.3)),
    "qwen3-windows": _llama(
        "Qwen3", head_dim=14, num_key_value_heads=1, use_sliding_window=True, sliding_window=5, max_window_layers=2
    ),
}
