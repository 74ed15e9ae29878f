"""Meta's own format of Llama, with a params.json, and llama2.c: a Llama with the same names, smaller and tied.

Mistral's own format is the same, with the width of a head and a sliding window.
"""

from collections.abc import Mapping
from typing import Any

from transformer_core.checkpoints.checkpoint import read_json
from transformer_core.checkpoints.describing import DECODER_ONLY, dropouts, having, heads_question, n_layers, usual
from transformer_core.checkpoints.entries import WEIGHT, Entry, embeddings, in_layers, module, modules
from transformer_core.checkpoints.layout import Description, Layout, SavedModel
from transformer_core.config import ModelConfig
from transformer_core.errors import Message
from transformer_core.text.load import PIECES, has_known_tokenizer

PARAMS, HEAD = "params.json", "output.weight"
_TOKENS, _FREQUENCIES, _LAYER = "tok_embeddings.weight", "rope.freqs", "layers.0"
_NAMES = {
    **{"dim": "d_model", "n_layers": "n_decoder_layers", "head_dim": "d_head", "norm_eps": "layer_norm_eps"},
    **{"rope_theta": "rotary_base", "rope_scaling_factor": "rotary_scaling_factor"},
    "rope_high_freq_factor": "rotary_high_freq_factor",
    **dict.fromkeys(("vocab_size", "multiple_of", "ffn_dim_multiplier", "hidden_dim", "max_batch_size"), ""),
}
_SCALED = "use_scaled_rope"  # Llama 3.1 and 3.2
_LLAMA3 = {
    **{"rotary_scaling": "llama3", "rotary_low_freq_factor": 1.0, "rotary_high_freq_factor": 4.0},
    "rotary_original_len": 8192,
}
_LLAMA3_TOKENS, _LLAMA32_WIDTHS = 128256, (2048, 3072)  # of 1 and 3 billion parameters
_LLAMA3_ENDS, _ENDS = (128000, 128001), (1, 2)  # tokens that begin and end texts
_OTHERS: Mapping[str, tuple[float, ...]] = {
    "rotary_base": (10000.0, 500000.0, 1000000.0),
    "rotary_scaling_factor": (8.0, 32.0),
}
_LAYER_NAMES = {
    **{"attention_norm": "ln1", "attention.wq": "self_attn.q", "attention.wk": "self_attn.k"},
    **{"attention.wv": "self_attn.v", "attention.wo": "self_attn.out", "ffn_norm": "ln2"},
    **{"feed_forward.w1": "mlp.gate", "feed_forward.w2": "mlp.down", "feed_forward.w3": "mlp.up"},
}
_OF_TIKTOKEN = Message(
    "Its {file} is a file of tiktoken, which is not read, so texts are token ids; to type words, put the "
    "tokenizer.json of this model beside it.",
    file=PIECES,
)


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return the options in params.json, in the "model_args" of llama2.c, and in config.json; the last take precedence.

    Raises:
        CheckpointError: params.json is damaged.
    """
    arguments = saved.other.get("model_args")
    beside = read_json(saved.folder, PARAMS) if (saved.folder / PARAMS).is_file() else {}
    values = {**beside, **(arguments if isinstance(arguments, Mapping) else {}), **saved.config}
    is_scaled = values.pop(_SCALED, False) is True
    return {**(_LLAMA3 if is_scaled else {}), **values}


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a model.

    Source: the classes Transformer in model.py of github.com/meta-llama/llama and github.com/karpathy/llama2.c.
    """
    weights, has_settings = saved.weights, bool(settings(saved))
    (vocab_size, d_model), width = weights[_TOKENS].shape, weights[f"{_LAYER}.attention.wq.weight"].shape[0]
    is_llama3 = vocab_size == _LLAMA3_TOKENS
    bos, eos = _LLAMA3_ENDS if is_llama3 else _ENDS
    fields = {
        **DECODER_ONLY,
        "vocab_size": vocab_size,
        "d_model": d_model,
        "d_ff": weights[f"{_LAYER}.feed_forward.w1.weight"].shape[0],
        "n_decoder_layers": n_layers(weights, "layers.", ".attention.wq.weight"),
        "positions": "rotary_interleaved",
        "norm": "rms",
        "layer_norm_eps": 1e-5,
        "gated": True,
        "activation": "silu",
        "feed_forward_bias": False,
        "attention_bias": "none",
        "tie_embeddings": "target",
        **dropouts(given),
        "bos_id": bos if bos < vocab_size else None,
        "eos_id": eos if eos < vocab_size else None,
    }
    d_head = given.get("d_head") or (2 * weights[_FREQUENCIES].shape[0] if _FREQUENCIES in weights else 0)
    if n_heads := given.get("n_heads", width // d_head if d_head else 0):
        d_head = d_head or max(1, width // n_heads)
        n_keys = weights[f"{_LAYER}.attention.wk.weight"].shape[0]
        fields |= {"n_heads": n_heads, "d_head": d_head, "n_kv_heads": max(1, n_keys // d_head)}
    of_llama: dict[str, float] = {"max_seq_len": 8192 if is_llama3 else 2048}
    if not has_settings:
        of_llama["rotary_base"] = 500000.0 if is_llama3 else 10000.0
    if given.get("rotary_scaling") == "llama3":
        of_llama["rotary_scaling_factor"] = 32.0 if d_model in _LLAMA32_WIDTHS else 8.0
    has_ids = (saved.folder / PIECES).is_file() and not has_known_tokenizer(saved.folder)
    return Description(
        fields=fields,
        conventions=[
            usual(name, value, "Llama", tuple(other for other in _OTHERS.get(name, ()) if other != value))
            for name, value in of_llama.items()
        ],
        questions=() if n_heads else [heads_question(width, usual=128 if d_model > 2048 else 64)],
        notes=[_OF_TIKTOKEN] if has_ids else (),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a model."""
    return (
        *embeddings(config, _TOKENS, head=HEAD),
        *module("norm", "decoder.ln_final", WEIGHT),
        *in_layers(config, "layers.*", modules(_LAYER_NAMES, WEIGHT)),
    )


LAYOUTS = (
    Layout(
        name="Meta's Llama and llama2.c",
        model_type="meta_llama",
        recognize=having(f"{_LAYER}.attention.wq.weight", f"{_LAYER}.feed_forward.w1.weight", _TOKENS),
        describe=describe,
        keys=keys,
        head=HEAD,
        names=_NAMES,
        settings=settings,
        described_in=PARAMS,
    ),
)
