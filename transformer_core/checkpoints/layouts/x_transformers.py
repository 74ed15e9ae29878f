"""Basic x-transformers: a TransformerWrapper with one stack, or an XTransformer with two.

Its many other options add tensors, which are refused by name, or leave no trace in the files, which a note says.
"""

import math
import re
from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.describing import heads_question, usual
from transformer_core.checkpoints.entries import Entry, scaled
from transformer_core.checkpoints.layout import Description, Layout, Question, SavedModel
from transformer_core.checkpoints.wrappers import Renamed
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

NAME, NAME_OF_PAIR = "x-transformers (TransformerWrapper)", "x-transformers (XTransformer)"
HEAD = "to_logits.weight"
_TOKENS, _POSITIONS = "token_emb.emb.weight", "pos_emb.emb.weight"
_FREQUENCIES = "attn_layers.rotary_pos_emb.inv_freq"
_BUCKETS = "attn_layers.rel_pos.relative_attention_bias.weight"
_SUBLAYER = "attn_layers.layers.{i}.1.{rest}"
_FIRST = _SUBLAYER.format(i=0, rest="to_q.weight")
_GAINS = {"rms": "g", "layer_without_bias": "gamma"}  # by norm
_GAIN = re.compile(r".+\.(gamma|g)")
_PRE, _POST = 0, 2  # places of the normalizations before a sub-layer and after the sum
_USUAL_WIDTH = 64  # of a head

_TRACELESS = Message(
    "Options of x-transformers that add no tensors, such as ALiBi besides learned positions, or queries and keys that "
    "are normalized without a scale, are read as off."
)
_STACK = Question(
    "architecture",
    ("decoder_only", "encoder_only"),
    Message("A Decoder and an Encoder have the same tensors; only the mask differs."),
)
_BEGIN = Question("bos_id", (1, 0, 2), Message("The first token of the output is an argument of generate."))
_SCALE = Question(
    "scale_logits",
    (False, True),
    Message(
        "The output layer is the embedding; newer versions multiply its logits by d_model^-0.5, older ones do not."
    ),
)
_ROTARY = Question(
    "positions",
    ("rotary_interleaved", "rotary_halves"),
    Message("Rotary embeddings pair neighbouring dimensions since 2024-05-12; before that, they paired two halves."),
)
_NO_TABLE = Question("positions", ("none", "alibi"), Message("There is no table of positions."))
_GATED = Question("activation", ("gelu", "silu"), Message("Its files do not record the activation of the gate."))


def recognize_one(saved: SavedModel) -> Mapping[str, Tensor] | None:
    """Return the tensors of a TransformerWrapper without the prefix of its wrapper, if any."""
    prefixes = [key.removesuffix(_FIRST) for key in saved.weights if key.endswith(_FIRST)]
    return _renamed(saved.weights, {prefixes[0]: ""}) if len(prefixes) == 1 else None


def recognize_pair(saved: SavedModel) -> Mapping[str, Tensor] | None:
    """Return the tensors of an XTransformer without the "net." of its decoder's wrapper."""
    encoders = [key.removesuffix(f"encoder.{_FIRST}") for key in saved.weights if key.endswith(f"encoder.{_FIRST}")]
    if len(encoders) != 1 or f"{encoders[0]}decoder.net.{_FIRST}" not in saved.weights:
        return None
    return _renamed(saved.weights, {f"{encoders[0]}decoder.net.": "decoder.", encoders[0]: ""})


def _renamed(weights: Mapping[str, Tensor], prefixes: Mapping[str, str]) -> Mapping[str, Tensor]:
    """Return tensors with their prefixes replaced; the first that fits counts."""
    keys = {}
    for key in weights:
        old = next((old for old in prefixes if key.startswith(old)), None)
        keys[key if old is None else prefixes[old] + key.removeprefix(old)] = key
    return Renamed(weights, keys)


def describe_one(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a TransformerWrapper.

    Source: github.com/lucidrains/x-transformers.
    """
    stack = saved.weights
    is_encoder, has_head = given.get("architecture") == "encoder_only", HEAD in stack
    n_layers = _n_sublayers(stack) // 2
    fields = {
        "n_encoder_layers": n_layers if is_encoder else 0,
        "n_decoder_layers": 0 if is_encoder else n_layers,
        "max_seq_len": _n_positions(stack),
        "unembed": has_head or not is_encoder,
        "tie_embeddings": "none" if has_head or is_encoder else "target",
        "bos_id": None,
    }
    return _description(stack, given, fields, [_STACK, *([] if has_head or is_encoder else [_SCALE])], saved)


def describe_pair(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of an XTransformer.

    Source: github.com/lucidrains/x-transformers.
    """
    encoder, decoder = (_renamed(saved.weights, {f"{stack}.": ""}) for stack in ("encoder", "decoder"))
    n_tokens, has_head = encoder[_TOKENS].shape[0], HEAD in decoder
    fields = {
        "architecture": "encoder_decoder",
        "src_vocab_size": 0 if n_tokens == decoder[_TOKENS].shape[0] else n_tokens,
        "n_encoder_layers": _n_sublayers(encoder) // 2,
        "n_decoder_layers": _n_sublayers(decoder) // 3,
        "max_seq_len": min(map(_n_positions, (encoder, decoder))),
        "tie_embeddings": "none" if has_head else "target",
    }
    return _description(decoder, given, fields, [_BEGIN, *([] if has_head else [_SCALE])], saved)


def _n_sublayers(stack: Mapping[str, Tensor]) -> int:
    return len({key.split(".")[2] for key in stack if key.startswith("attn_layers.layers.")})


def _n_positions(stack: Mapping[str, Tensor]) -> int:
    return stack[_POSITIONS].shape[0] if _POSITIONS in stack else 512


def _description(
    stack: Mapping[str, Tensor],
    given: Mapping[str, Any],
    fields: Mapping[str, Any],
    questions: list[Question],
    saved: SavedModel,
) -> Description:
    """Return the description of a model, from its last stack and the fields of its layout."""
    last = _n_sublayers(stack) - 1
    width, feed_forward = stack[_FIRST].shape[0], _SUBLAYER.format(i=last, rest="ff")
    n_usual = 0 if width % _USUAL_WIDTH else width // _USUAL_WIDTH
    n_heads = stack[_BUCKETS].shape[1] if _BUCKETS in stack else given.get("n_heads", n_usual)
    d_head = width // n_heads if n_heads else 0
    norm = next((norm for norm, gain in _GAINS.items() for key in stack if key.endswith(f".{gain}")), "rms")
    is_post = f"attn_layers.layers.0.0.{_POST}.{_GAINS[norm]}" in stack
    gains = {key: saved.weights[key] for key in saved.weights if _GAIN.fullmatch(key)}
    has_offset = sum(gain.float().mean().item() for gain in gains.values()) < len(gains) / 2  # else all are near 1
    is_rotary = _FREQUENCIES in stack
    is_gated = f"{feed_forward}.0.proj.weight" in stack
    conventions = [] if is_gated else [usual("activation", "gelu", "x-transformers")]
    questions += [_GATED] if is_gated else []
    if _BUCKETS not in stack and n_usual:
        conventions.append(usual("n_heads", n_usual, "x-transformers"))
    if not (n_heads or n_usual):
        questions.append(heads_question(width))
    if is_rotary and not has_offset:  # which dates from 2024-06-27
        questions.append(_ROTARY)
    if not (is_rotary or _BUCKETS in stack or _POSITIONS in stack):
        questions.append(_NO_TABLE)
    return Description(
        fields={
            "vocab_size": stack[_TOKENS].shape[0],
            "d_model": stack[_TOKENS].shape[1],
            "d_ff": stack[f"{feed_forward}.2.weight"].shape[1],
            "n_heads": n_heads,
            "d_head": d_head,
            "n_kv_heads": stack[_SUBLAYER.format(i=0, rest="to_k.weight")].shape[0] // d_head if d_head else 0,
            "norm": norm,
            "norm_position": "post" if is_post else "pre",
            "last_norm": is_post or f"attn_layers.final_norm.{_GAINS[norm]}" in stack,
            "layer_norm_eps": 1e-12 if norm == "rms" else 1e-5,
            "gated": is_gated,
            "feed_forward_bias": f"{feed_forward}.2.bias" in stack,
            "attention_bias": "none",
            "scale_embeddings": False,
            "dropout": 0.0,
            "pad_id": None,
            "eos_id": None,
            **_positions(stack, d_head),
            **fields,
        },
        conventions=conventions,
        questions=questions,
        notes=[_TRACELESS],
        weights=ChainMap({key: gain.float() + 1 for key, gain in gains.items()}, saved.weights)  # type: ignore[arg-type]
        if has_offset
        else None,
    )


def _positions(stack: Mapping[str, Tensor], d_head: int) -> dict[str, Any]:
    if _BUCKETS in stack:
        return {"positions": "relative_buckets", "n_relative_buckets": stack[_BUCKETS].shape[0]}
    if _FREQUENCIES not in stack or not d_head:
        return {"positions": "learned"} if _POSITIONS in stack else {}
    frequencies = stack[_FREQUENCIES].double()
    n = len(frequencies)
    base = float(frequencies[-1]) ** (-n / (n - 1)) if n > 1 else 10000.0
    is_whole = math.isclose(base, round(base), rel_tol=1e-4)
    return {
        "positions": "rotary_interleaved",
        "rotary_fraction": 2 * n / d_head,
        "rotary_base": float(round(base)) if is_whole else base,
    }


def keys_of_one(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a TransformerWrapper."""
    return _keys(config, "", "decoder" if config.has_decoder else "encoder")


def keys_of_pair(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of an XTransformer."""
    return (*_keys(config, "encoder.", "encoder"), *_keys(config, "decoder.", "decoder"))


def _keys(config: ModelConfig, theirs: str, ours: str) -> tuple[Entry, ...]:
    """Return the entries of one stack, and, in the last one, of the output layer."""
    has_head = config.unembed and ours == ("decoder" if config.has_decoder else "encoder")
    is_tied = has_head and config.tie_embeddings != "none"
    gain = _GAINS[config.norm]
    entries = [Entry(f"{theirs}{_TOKENS}", (f"{ours}.embed.weight",), copies=(f"{theirs}{HEAD}",) if is_tied else ())]
    entries += [Entry(f"{theirs}{HEAD}", ("unembed.weight",))] if has_head and not is_tied else []
    if config.positions == "learned":
        table, n = f"{ours}.pos_embed.table", config.max_seq_len
        stored = Entry(f"{theirs}{_POSITIONS}", (table,), lambda weight: [weight[:n]])
        entries += scaled([stored], {table: config.d_model**-0.5})
    if config.positions == "relative_buckets":
        bias = f"{ours}.position_bias.weight"
        entries += scaled([Entry(f"{theirs}{_BUCKETS}", (bias,))], {bias: config.d_head**0.5})
    if config.has_final_norm:
        entries.append(Entry(f"{theirs}attn_layers.final_norm.{gain}", (f"{ours}.ln_final.weight",)))
    has_cross = ours == "decoder" and config.has_encoder
    parts = {"self_attn": "ln1", **({"cross_attn": "ln_cross"} if has_cross else {}), "mlp": "ln2"}
    n_layers = config.n_decoder_layers if ours == "decoder" else config.n_encoder_layers
    sublayers = [(layer, part, norm) for layer in range(n_layers) for part, norm in parts.items()]
    for i, (layer, part, norm) in enumerate(sublayers):
        block, place = f"{ours}.blocks.{layer}", _PRE if config.norm_position == "pre" else _POST
        entries += _sublayer(config, f"{theirs}attn_layers.layers.{i}.1", f"{block}.{part}")
        entries.append(Entry(f"{theirs}attn_layers.layers.{i}.0.{place}.{gain}", (f"{block}.{norm}.weight",)))
    return tuple(entries)


def _sublayer(config: ModelConfig, theirs: str, ours: str) -> list[Entry]:
    if not ours.endswith("mlp"):
        return [Entry(f"{theirs}.to_{name}.weight", (f"{ours}.{name}.weight",)) for name in ("q", "k", "v", "out")]
    entries = []
    for part in ("weight", "bias") if config.feed_forward_bias else ("weight",):
        up = Entry(f"{theirs}.ff.0.0.{part}", (f"{ours}.up.{part}",))
        if config.gated:
            names = tuple(f"{ours}.{name}.{part}" for name in ("up", "gate"))
            up = Entry(f"{theirs}.ff.0.proj.{part}", names, lambda weight: weight.chunk(2))
        entries += [up, Entry(f"{theirs}.ff.2.{part}", (f"{ours}.down.{part}",))]
    return entries


LAYOUTS = (
    Layout(
        name=NAME_OF_PAIR,
        model_type="x_transformers_pair",
        recognize=recognize_pair,
        describe=describe_pair,
        keys=keys_of_pair,
        head=f"decoder.{HEAD}",
    ),
    Layout(
        name=NAME,
        model_type="x_transformers",
        recognize=recognize_one,
        describe=describe_one,
        keys=keys_of_one,
        head=HEAD,
    ),
)
