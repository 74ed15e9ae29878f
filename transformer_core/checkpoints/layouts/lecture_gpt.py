"""gpt.py of Karpathy's lecture "Let's build GPT": a GPT whose attention has a module for each head.

Common variants have one matrix for all heads, or one for queries, keys and values; other biases; or another activation.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.characters import characters_in, characters_of_text
from transformer_core.checkpoints.describing import (
    DECODER_ONLY,
    Computed,
    changed,
    dropouts,
    having,
    heads_question,
    n_layers,
    thirds,
    usual,
)
from transformer_core.checkpoints.entries import Entry, embeddings, in_layers, inside, module, modules, parts
from transformer_core.checkpoints.layout import Convention, Description, Layout, Question, SavedModel
from transformer_core.checkpoints.layouts.raschka import with_biases
from transformer_core.checkpoints.wrappers import Renamed
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, Message
from transformer_core.text.load import has_known_tokenizer

HEAD = "lm_head.weight"
_TOKENS, _POSITIONS = "token_embedding_table.weight", "position_embedding_table.weight"
_NAMES = {"n_layer": "n_decoder_layers", "n_head": "n_heads", "n_embd": "d_model", "block_size": "max_seq_len"}
_PROJECTIONS = ("query", "key", "value")
_ATTENTION = "blocks.0.sa"
_KINDS = ("heads.0.query", "query", "c_attn", "qkv")  # of matrices
_SCALE, _SCALES = "score_scale", ("d_head", "d_model")  # scores are divided by the square root of this width
_EARLY = re.compile(r"sa_heads?\..+")  # without blocks and residual connections
_OF_HEAD = re.compile(r"(blocks\.\d+\.sa)\.heads\.(\d{1,4})\.(query|key|value)\.(weight|bias)")
_STACKED = re.compile(r"(blocks\.\d+\.sa)\.(?:c_attn|qkv)\.(weight|bias)")
_RENAMED = (
    (re.compile(r"blocks\.\d+\.(weight|bias)"), r"ln_f.\1"),  # the last module in the Sequential of the blocks
    (re.compile(r"(blocks\.\d+)\.sa\.c_proj\.(weight|bias)"), r"\1.sa.proj.\2"),
    (re.compile(r"(blocks\.\d+)\.ffwd\.net\.[3-9]\.(weight|bias)"), r"\1.ffwd.net.2.\2"),  # after a dropout
)


def recognize(saved: SavedModel) -> Mapping[str, Tensor] | None:
    """Return the tensors of gpt.py or one of its variants, or of an earlier part of the lecture."""
    kinds = (having(f"{_ATTENTION}.{kind}.weight", _TOKENS, _POSITIONS)(saved) for kind in _KINDS)
    if weights := next((weights for weights in kinds if weights is not None), None):
        return Renamed(weights, {_in_table(key): key for key in weights})
    weights = having(_TOKENS)(saved)
    return weights if weights and (len(weights) == 1 or any(map(_EARLY.fullmatch, weights))) else None


def _in_table(key: str) -> str:
    return next((pattern.sub(new, key) for pattern, new in _RENAMED if pattern.fullmatch(key)), key)


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return the options in config.json, and the number of heads and the dropout that some variants save as "config".

    The sizes there follow from the tensors.
    """
    config = saved.other.get("config")
    beside = config if isinstance(config, Mapping) else {}
    return {name: beside[name] for name in ("n_head", "dropout") if name in beside} | dict(saved.config)


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a model.

    Raises:
        CheckpointError: it is from an earlier part of the lecture.

    Source: gpt.py of github.com/karpathy/ng-video-lecture, and its history.
    """
    weights = saved.weights
    _refuse_early(weights)
    vocab_size, d_model = weights[_TOKENS].shape
    of_heads = [key for key in weights if key.startswith(f"{_ATTENTION}.heads.") and key.endswith(".query.weight")]
    questions: list[Question] = []
    if of_heads:
        n_heads, d_head = len(of_heads), weights[of_heads[0]].shape[0]
    else:
        n_rows = next(weights[key].shape[0] for kind in _KINDS if (key := f"{_ATTENTION}.{kind}.weight") in weights)
        width = n_rows if f"{_ATTENTION}.query.weight" in weights else n_rows // 3
        questions.append(heads_question(width))
        n_heads = given.get("n_heads", 1)
        d_head = max(1, width // n_heads)
    if "blocks.0.ln1.bias" not in weights:
        questions.append(Question("norm", ("rms", "layer_without_bias"), Message("Both have only a weight.")))
    has_bias = f"{_ATTENTION}.proj.bias" in weights
    qkv_bias = any(key.startswith(f"{_ATTENTION}.") and key.endswith("bias") and ".proj." not in key for key in weights)
    fields = {
        **DECODER_ONLY,
        "vocab_size": vocab_size,
        "d_model": d_model,
        "d_ff": weights["blocks.0.ffwd.net.0.weight"].shape[0],
        "n_heads": n_heads,
        "d_head": d_head,
        "n_decoder_layers": n_layers(weights, "blocks.", ".ln1.weight"),
        "max_seq_len": weights[_POSITIONS].shape[0],
        "positions": "learned",
        "norm": "layer",
        "last_norm": "ln_f.weight" in weights,
        "feed_forward_bias": "blocks.0.ffwd.net.0.bias" in weights,
        "attention_bias": "all" if has_bias else "qkv" if qkv_bias else "none",
        "tie_embeddings": "target",
        "unembed_bias": "lm_head.bias" in weights,
        **dropouts(given),
    }
    tokenizer = characters_in(saved.other, vocab_size)
    if tokenizer is None and not has_known_tokenizer(saved.folder):
        tokenizer = characters_of_text(saved.folder, vocab_size)
    by_layer = _by_layer(weights)
    if has_bias or qkv_bias:
        by_layer = with_biases(by_layer, [f".sa.{name}.weight" for name in _PROJECTIONS])
    if given.get(_SCALE) == "d_model":
        scale = math.sqrt(d_head / d_model)
        queries = [key for key in by_layer if key.endswith((".sa.query.weight", ".sa.query.bias"))]
        by_layer = Computed(by_layer, changed(by_layer, queries, lambda rows: rows.float() * scale))
    return Description(
        fields=fields,
        conventions=_conventions(d_head != d_model),
        questions=questions,
        weights=by_layer,
        tokenizer=tokenizer,
    )


def _refuse_early(weights: Mapping[str, Tensor]) -> None:
    """Check that a model is not from an earlier part of the lecture."""
    if len(weights) == 1:
        raise CheckpointError(
            "this is the bigram model of the lecture, one table of logits without attention; train gpt.py, and import "
            "that model"
        )
    if any(map(_EARLY.fullmatch, weights)):
        raise CheckpointError(
            "this model is from the part of the lecture before blocks with residual connections, and models without "
            "them cannot be computed here; train gpt.py, and import that model"
        )


def _conventions(has_several_heads: bool) -> list[Convention]:
    activation = usual("activation", "relu", "gpt.py", ("gelu", "gelu_tanh"))
    scale = Convention(
        _SCALE,
        _SCALES[0],
        Message(
            "Read with scores divided by the root of the width of a head, as in gpt.py since 2023-01-25; the lecture "
            "itself divides by that of d_model: for such a model, choose score_scale d_model."
        ),
        _SCALES[1:],
    )
    return [activation, *([scale] if has_several_heads else [])]


def _by_layer(weights: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Return the tensors with one matrix each for all queries, keys and values of a layer."""
    heads: dict[str, list[tuple[int, str]]] = {}  # number and key of each head, by the new key
    computed: dict[str, Callable[[], Tensor]] = {}
    stacked = {key: match for key in weights if (match := _STACKED.fullmatch(key))}
    split = {key: [f"{match[1]}.{name}.{match[2]}" for name in _PROJECTIONS] for key, match in stacked.items()}
    for key in weights:
        if match := _OF_HEAD.fullmatch(key):
            heads.setdefault(f"{match[1]}.{match[3]}.{match[4]}", []).append((int(match[2]), key))
    for new, of_layer in heads.items():
        computed[new] = partial(_joined, weights, [key for _, key in sorted(of_layer)])
    old = [key for of_layer in heads.values() for _, key in of_layer]
    return Computed(thirds(weights, split), computed, without=old)


def _joined(weights: Mapping[str, Tensor], keys: Sequence[str]) -> Tensor:
    return torch.cat([weights[key] for key in keys])


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a model, as `describe` completes it."""
    norm, qkv = parts(config.norm == "layer"), {"query": "q", "key": "k", "value": "v"}
    layer = (
        *inside("sa", "self_attn", modules(qkv, parts(config.attention_bias != "none"))),
        *module("sa.proj", "self_attn.out", parts(config.attention_bias == "all")),
        *modules({"ffwd.net.0": "mlp.up", "ffwd.net.2": "mlp.down"}, parts(config.feed_forward_bias)),
        *modules({"ln1": "ln1", "ln2": "ln2"}, norm),
    )
    return (
        *embeddings(config, _TOKENS, head=HEAD),
        Entry(_POSITIONS, ("decoder.pos_embed.table",)),
        *([Entry("lm_head.bias", ("unembed.bias",))] if config.unembed_bias else []),
        *(module("ln_f", "decoder.ln_final", norm) if config.last_norm else []),
        *in_layers(config, "blocks.*", layer),
    )


LAYOUTS = (
    Layout(
        name="Karpathy's lecture (gpt.py)",
        model_type="lecture_gpt",
        recognize=recognize,
        describe=describe,
        keys=keys,
        head=HEAD,
        names=_NAMES,
        settings=settings,
        choices={_SCALE: _SCALES},
    ),
)
