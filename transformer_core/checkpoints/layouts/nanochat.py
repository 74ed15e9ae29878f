"""nanochat until 2026-01-10, in model_<step>.pt with meta_<step>.json; later versions have parts that do not fit."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.checkpoint import read_json
from transformer_core.checkpoints.describing import (
    DECODER_ONLY,
    Computed,
    changed,
    having,
    n_layers,
    usual,
)
from transformer_core.checkpoints.entries import WEIGHT, Entry, embeddings, in_layers, modules, shared
from transformer_core.checkpoints.layout import Description, Layout, SavedModel
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, Message

HEAD, _TOKENS = "lm_head.weight", "transformer.wte.weight"
_ONES, _ONES_OF_HEAD = "gain of 1", "gain of 1 per head"
_NAMES = {
    **{"sequence_len": "max_seq_len", "n_layer": "n_decoder_layers", "n_head": "n_heads", "n_kv_head": "n_kv_heads"},
    **{"n_embd": "d_model", "window_pattern": ""},
}
_LATER = (  # parts of keys, and the day from which nanochat has had them
    ("smear_", "2026-03-14"),
    ("value_embeds", "2026-01-16"),
    ("ve_gate", "2026-01-16"),
    ("resid_lambdas", "2026-01-11"),
    ("x0_lambdas", "2026-01-11"),
)
_LAYER = {
    **{"attn.c_q": "self_attn.q", "attn.c_k": "self_attn.k", "attn.c_v": "self_attn.v", "attn.c_proj": "self_attn.out"},
    **{"mlp.c_fc": "mlp.up", "mlp.c_proj": "mlp.down"},
}


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return the "model_config" in the meta_<step>.json of a model_<step>.pt, and the options in config.json.

    Raises:
        CheckpointError: the file is damaged.
    """
    match = next((match for path in saved.paths if (match := re.fullmatch(r"model_(\d+)\.\w+", path.name))), None)
    path = saved.folder / (f"meta_{match[1]}.json" if match else "meta.json")
    if not path.is_file():
        return saved.config
    values = read_json(path.parent, path.name).get("model_config")
    if not isinstance(values, dict):
        raise CheckpointError("{path} is damaged: it has no model_config; copy it again", path=path)
    return {**values, **saved.config}


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a nanochat model.

    Its tokenizer is a pickled object of tiktoken, which is not read.

    Raises:
        CheckpointError: it is from a later version.

    Source: github.com/karpathy/nanochat, gpt.py from 2025-10-13 to 2026-01-10. It rotates by the negative angle, before
    the normalization of queries and keys, which rotations do not change.
    """
    weights = saved.weights
    for part, day in _LATER:
        if name := next((key for key in weights if part in key), None):
            raise CheckpointError(
                "{name!r} is a part that nanochat has had since {day}, and that is not supported; models of earlier "
                "versions can be opened",
                name=name,
                day=day,
            )
    windows = Options(settings(saved), where=str(saved.folder))
    windows.must_be("window_pattern", "L", Message("models with it cannot be computed here"))
    n_rows, d_model = weights[_TOKENS].shape
    usual_heads = min((n for n in range(1, d_model + 1) if d_model % n == 0), key=lambda n: abs(d_model / n - 128))
    d_head = max(1, d_model // given.get("n_heads", usual_heads))
    vocab_size = min(n_rows, given.get("vocab_size", n_rows))
    fields = {
        **DECODER_ONLY,
        "vocab_size": vocab_size,
        "d_model": d_model,
        "d_ff": weights["transformer.h.0.mlp.c_fc.weight"].shape[0],
        "n_kv_heads": weights["transformer.h.0.attn.c_k.weight"].shape[0] // d_head,
        "n_decoder_layers": n_layers(weights, "transformer.h.", ".attn.c_q.weight"),
        "positions": "rotary_halves",
        "norm": "rms",
        "layer_norm_eps": torch.finfo(torch.float32).eps,
        "embedding_norm": True,
        "qk_norm": True,
        "activation": "squared_relu",
        "logit_cap": 15.0,
        "feed_forward_bias": False,
        "attention_bias": "none",
        "tie_embeddings": "none",
    }
    sizes = {_ONES: d_model, _ONES_OF_HEAD: d_head}
    ones = {f"{name}.weight": partial(torch.ones, size) for name, size in sizes.items()}
    rows = changed(weights, (_TOKENS, HEAD), lambda rows: rows[:vocab_size])  # others only pad them to a multiple of 64
    of_heads = [key for key in weights if key.endswith((".attn.c_q.weight", ".attn.c_k.weight"))]
    turned = changed(weights, of_heads, partial(_turned, d_head=d_head))
    path = saved.folder / "tokenizer.pkl"
    unread = Message(
        "Its {file} is a pickled object of tiktoken, which could run code, so it is not read.", file=path.name
    )
    return Description(
        fields=fields,
        notes=[unread] if path.is_file() else (),
        conventions=[usual("n_heads", usual_heads, "nanochat"), usual("max_seq_len", 2048, "nanochat")],
        weights=Computed(weights, {**ones, **rows, **turned}),
    )


def _turned(weight: Tensor, d_head: int) -> Tensor:
    """Negate the second half of each head's rows, so that rotations by positive angles are those by negative ones."""
    first, second = weight.unflatten(0, (-1, d_head)).chunk(2, dim=1)
    return torch.cat([first, -second], dim=1).flatten(0, 1)


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a nanochat model, as `describe` completes it."""
    blocks = [f"decoder.blocks.{i}" for i in range(config.n_decoder_layers)]
    norms = [f"{block}.{name}" for block in blocks for name in ("ln1", "ln2")]
    qk_norms = [f"{block}.self_attn.{name}" for block in blocks for name in ("q_norm", "k_norm")]
    return (
        *embeddings(config, _TOKENS, head=HEAD),
        *shared(_ONES, ["decoder.embedding_norm", *norms, "decoder.ln_final"], WEIGHT),
        *shared(_ONES_OF_HEAD, qk_norms, WEIGHT),
        *in_layers(config, "transformer.h.*", modules(_LAYER, WEIGHT)),
    )


LAYOUTS = (
    Layout(
        name="nanochat",
        model_type="nanochat_file",
        recognize=having("transformer.h.0.attn.c_q.weight", _TOKENS, HEAD),
        describe=describe,
        keys=keys,
        head=HEAD,
        names=_NAMES,
        settings=settings,
    ),
)
