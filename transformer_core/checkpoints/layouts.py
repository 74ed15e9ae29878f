"""Weights without a config.json: recognizing them by the names of their tensors, with advice on how to open them."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.families import nanogpt, raschka
from transformer_core.checkpoints.families.torch_transformer import (
    LAST_NORM,
    LAYER,
    MODEL_TYPE,
    sinusoidal_kinds,
    stacks_of,
)
from transformer_core.errors import Message

ASKED = "?"
_OUTPUT = ("out", "head", "fc", "proj", "gen", "unembed", "decode", "logit", "classif", "linear")
_SOURCE, _TARGET, _POSITION = ("src", "source", "enc"), ("tgt", "trg", "target", "dec"), ("pos", "pe")

_SAMPLE_STD = Message("its normalization divides by the sample standard deviation")
_OTHERS: tuple[tuple[str, str, Message], ...] = (
    (r"residual_connections\.\d+\.norm\.alpha", "github.com/hkproj/pytorch-transformer", _SAMPLE_STD),
    (r"sublayer\.\d+\.norm\.a_2", "The Annotated Transformer", _SAMPLE_STD),
    (
        r"slf_attn\.w_qs\.",
        "github.com/jadore801120/attention-is-all-you-need-pytorch",
        Message("it normalizes the embeddings in stacks that are post-norm"),
    ),
    (r"attention\.w_concat\.", "github.com/hyunwoongko/transformer", Message("its positions are not in the file")),
    (r"attn_layers\.layers\.\d+\.", "x-transformers", Message("its layers depend on options that are not in the file")),
    (
        r"blocks\.\d+\.attn\.W_Q$",
        "TransformerLens",
        Message("its weights may be folded; import the original model instead"),
    ),
    (r"attn\.c_q\.weight$", "nanochat", Message("it uses constants that are not in the file")),
    (r"attn\.qkv\.weight$", "LitGPT", Message("convert it with litgpt convert_from_litgpt, and import the result")),
    (r"^layer\d+\.attn_wq$", "microGPT", Message("it has no normalization before the last layer")),
)


def layout_of(weights: Mapping[str, Tensor]) -> Message | None:
    """Return the predicate of a message about weights without a config.json; None if their layout is unknown."""
    for name, values in (
        ("nanoGPT or minGPT", nanogpt.sizes_of(weights)),
        ("Raschka's GPTModel", raschka.sizes_of(weights)),
    ):
        if values:
            return Message(
                "has the layout of {name}, but not its number of heads; write a {config} next to the weights, with a "
                "number for ?: {example}",
                name=name,
                config="config.json",
                example=_with_heads(values),
            )
    for pattern, name, why in _OTHERS:
        if any(re.search(pattern, key) for key in weights):
            return Message("has the layout of {name}, which is not supported: {why}", name=name, why=why)
    return None


def _with_heads(values: Mapping[str, object]) -> str:
    n_heads = "n_head" if values["model_type"] == nanogpt.MODEL_TYPE else "n_heads"
    return json.dumps({n_heads: "?", **values}).replace('"?"', "?")


def example_config(tensors: Mapping[str, Tensor]) -> str:
    """Return a config.json for a state dict with torch.nn layers, with "?" for values to fill in; "" without them."""
    stacks = stacks_of(tensors)
    if "encoder" not in stacks.values():
        return ""
    layer = next(key for key in tensors if (match := LAYER.fullmatch(key)) and match["part"] == "linear1")
    width, is_pair = tensors[layer.removesuffix("bias").removesuffix("weight") + "weight"].shape[1], len(stacks) > 1
    others = {
        key: tensor for key, tensor in tensors.items() if not LAYER.fullmatch(key) and not key.endswith(LAST_NORM)
    }
    tables = [key for key, tensor in others.items() if tensor.ndim in (2, 3) and tensor.shape[-1] == width]
    positions = [key for key in tables if others[key].numel() > width and _is_of_positions(key, others[key])]
    rest = [key for key in tables if key not in positions and others[key].ndim == 2]
    linear = [key for key in rest if key.removesuffix("weight") + "bias" in others or _speaks_of(key, _OUTPUT)]
    embedding = [key for key in rest if key not in linear or _speaks_of(key, ("emb", "lut"))]
    embedding = sorted(embedding, key=lambda key: _speaks_of(key, _TARGET) and not _speaks_of(key, _SOURCE))
    n_tokens = others[embedding[-1]].shape[0] if embedding else 0
    output = [key for key in linear if key not in embedding and others[key].shape[0] == n_tokens]
    values: dict[str, Any] = {"model_type": MODEL_TYPE, "n_heads": ASKED}
    values |= {"embedding": _one_or_two(embedding, is_pair) if embedding else ASKED}
    values |= {"output": output[-1]} if output else {"output": ASKED} if is_pair else {}
    kinds = sinusoidal_kinds(others[positions[0]]) if positions else []
    if kinds:
        values["positions"] = kinds[0]
    elif positions:
        values["position_table"] = _one_or_two(positions, is_pair)
    else:
        values["positions"] = ASKED
    values |= {"causal": ASKED} if output and not is_pair else {}
    named = {*embedding, *output[-1:], *(key.removesuffix("weight") + "bias" for key in output[-1:]), *positions}
    ignored = [key for name in linear if name not in named for key in (name, name.removesuffix("weight") + "bias")]
    ignored = [key for key in ignored if key in others]
    return json.dumps(values | ({"ignored": ignored} if ignored else {})).replace(f'"{ASKED}"', ASKED)


def _is_of_positions(key: str, table: Tensor) -> bool:
    parts = key.lower().replace("_", ".").split(".")
    return any(part.startswith("pos") or part in ("pe", "wpe") for part in parts) or (
        table.ndim == 3 and 1 in table.shape[:2]
    )


def _speaks_of(key: str, words: Sequence[str]) -> bool:
    return any(word in key.lower() for word in words)


def _one_or_two(keys: Sequence[str], is_pair: bool) -> str | list[str]:
    """Return one key, or both of a source and a target."""
    return [*keys[:2]] if is_pair and len(keys) > 1 else keys[0]
