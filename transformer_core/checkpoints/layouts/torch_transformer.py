"""Models around torch.nn.Transformer, or nn.TransformerEncoder and nn.TransformerDecoder.

The layers are recognized by the names that torch gives to their parts, and the embedding, the positions and the output
layer by names and shapes. A config.json in the same folder may describe more:

{"model_type": "torch_transformer", "n_heads": 4, "embedding": "embed.weight", "output": "out.weight",
 "positions": "sinusoidal_interleaved"}

- embedding: the key of the token embedding, or a list of those of source and target.
- output: the key of the output layer's matrix.
- position_table: the key of a table that is added to the embeddings, or a list of two.
- ignored: keys of other layers, such as a classifier.
- norm_first, causal (an encoder with a causal mask, which is a decoder), or any field of `ModelConfig`.

With "model_type", options that are left out have torch's defaults: norm_first false, causal false, activation "relu",
scale_embeddings false.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.describing import heads_question, special_tokens, tying
from transformer_core.checkpoints.entries import (
    Entry,
    embeddings,
    embeddings_of_pair,
    first_positions,
    in_layers,
    module,
    modules,
    parts,
)
from transformer_core.checkpoints.layout import Description, Layout, Question, SavedModel
from transformer_core.checkpoints.torch_parts import STACKS, PartsSearch, stacks_of
from transformer_core.checkpoints.wrappers import Renamed
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, Message

MODEL_TYPE, _HEAD = "torch_transformer", "output.weight"
_IN_CONFIG = ("embedding", "output", "position_table", "ignored")  # keys of tensors
_USUAL_LENGTH = 512  # if no table shows it
_QUESTIONS = (
    Question(
        "norm_position", ("post", "pre"), Message("norm_first changes the order of torch’s layers, not the tensors.")
    ),
    Question("activation", ("relu", "gelu"), Message("It is not in the tensors.")),
)
_CAUSAL = Question(
    "architecture",
    ("decoder_only", "encoder_only"),
    Message("With a causal mask an nn.TransformerEncoder is a decoder; the mask is not in the tensors."),
)
_SCALED = Question(
    "scale_embeddings",
    (True, False),
    Message("Many programs multiply embeddings by √d_model before they add sinusoidal positions."),
)
_POSITIONS = Question(
    "positions", ("sinusoidal_interleaved", "sinusoidal_halves", "none"), Message("There is no table of positions.")
)


def recognize(saved: SavedModel) -> Mapping[str, Tensor] | None:
    """Return the tensors of a model with such layers."""
    return saved.weights if stacks_of(saved.weights) else None


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return the options in config.json, those of torch under our names."""
    ours = {name: value for name, value in saved.config.items() if name not in ("norm_first", "causal")}
    if "norm_first" in saved.config:
        ours["norm_position"] = "pre" if saved.config["norm_first"] else "post"
    if "causal" in saved.config and "decoder" not in stacks_of(saved.weights).values():
        ours["architecture"] = "decoder_only" if saved.config["causal"] else "encoder_only"
    return ours


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a model.

    Source: the classes of torch.nn, which follow Vaswani et al. 2017.

    Raises:
        CheckpointError: as for `PartsSearch`; or only one of two stacks has a final normalization.
    """
    parts = PartsSearch(saved).result()
    tensors = {name: saved.weights[key] for name, key in parts.keys.items()}
    is_pair, has_output = len(parts.stacks) > 1, "output.weight" in tensors
    src, tgt = tensors["embedding.0"], tensors[f"embedding.{len(parts.stacks) - 1}"]
    has_bias = "encoder.layers.0.linear1.bias" in tensors
    norms = {f"{stack}.norm.weight" in tensors for stack in parts.stacks}
    if len(norms) > 1:
        raise CheckpointError(
            "{path}: only one of the two stacks has a final normalization, which is not supported", path=saved.folder
        )
    is_pre, is_causal = given.get("norm_position") == "pre", given.get("architecture") == "decoder_only"
    layers = [{name.split(".")[2] for name in tensors if name.startswith(f"{stack}.layers.")} for stack in STACKS]
    n_layers = [*map(len, layers)]
    questions = [
        *_QUESTIONS,
        *([_CAUSAL] if has_output and not is_pair else []),
        *([] if parts.positions == "learned" else [_SCALED]),
    ]
    return Description(
        fields={
            "architecture": "encoder_decoder" if is_pair else "encoder_only",
            "vocab_size": tgt.shape[0],
            "src_vocab_size": 0 if src.shape[0] == tgt.shape[0] else src.shape[0],
            "d_model": tgt.shape[1],
            "d_ff": tensors["encoder.layers.0.linear1.weight"].shape[0],
            "n_encoder_layers": 0 if is_causal else n_layers[0],
            "n_decoder_layers": n_layers[0] if is_causal else n_layers[1],
            "max_seq_len": min(parts.lengths, default=_USUAL_LENGTH),
            **({"positions": parts.positions} if parts.positions else {}),
            "norm": "layer" if has_bias else "layer_without_bias",
            "norm_position": "post",
            ("last_norm" if is_pre else "final_norm"): norms == {True},
            "activation": "relu",
            "feed_forward_bias": has_bias,
            "attention_bias": "all" if has_bias else "none",
            "scale_embeddings": False,
            "tie_embeddings": tying(tgt, tensors.get(_HEAD), src=src if is_pair else None),
            "unembed": has_output,
            "unembed_bias": "output.bias" in tensors,
            "pad_id": None,
        },
        conventions=special_tokens(tgt.shape[0]) if is_pair or is_causal else [],
        questions=[
            heads_question(tgt.shape[1]),
            *([] if saved.config.get("model_type") == MODEL_TYPE else questions),
            *([] if parts.positions else [_POSITIONS]),
        ],
        notes=parts.notes,
        weights=Renamed({key: saved.weights[key] for key in saved.weights if key not in parts.left_out}, parts.keys),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a model, by the keys of `TorchParts`."""
    stacks = {"encoder": "encoder", "decoder": "decoder"}  # ours, by theirs
    if config.architecture == "encoder_decoder":
        entries = [*embeddings_of_pair(config, "embedding.0", "embedding.1", head=_HEAD)]
    else:
        entries = [*embeddings(config, "embedding.0", head=_HEAD)]
        stacks = {"encoder": config.architecture.removesuffix("_only")}
    entries += [Entry("output.bias", ("unembed.bias",))] if config.unembed_bias else []
    both = parts(config.feed_forward_bias)
    for i, (theirs, ours) in enumerate(stacks.items()):
        if config.positions == "learned":
            entries.append(Entry(f"positions.{i}", (f"{ours}.pos_embed.table",), first_positions(config.max_seq_len)))
        if config.has_final_norm:
            entries += module(f"{theirs}.norm", f"{ours}.ln_final", both)
        entries += in_layers(config, f"{theirs}.layers.*", _layer(theirs, both), stack=ours)
    return tuple(entries)


def _layer(stack: str, parts: Sequence[str]) -> Iterator[Entry]:
    is_encoder = stack == "encoder"
    attentions = {"self_attn": "self_attn"} | ({} if is_encoder else {"multihead_attn": "cross_attn"})
    for theirs, ours in attentions.items():
        for part in parts:
            names = tuple(f"{ours}.{name}.{part}" for name in ("q", "k", "v"))
            yield Entry(f"{theirs}.in_proj_{part}", names, lambda tensor: tensor.chunk(3))
        yield from module(f"{theirs}.out_proj", f"{ours}.out", parts)
    norms = enumerate(("ln1", "ln2") if is_encoder else ("ln1", "ln_cross", "ln2"), start=1)
    yield from modules({f"norm{i}": norm for i, norm in norms} | {"linear1": "mlp.up", "linear2": "mlp.down"}, parts)


LAYOUTS = (
    Layout(
        name="torch.nn.Transformer",
        model_type=MODEL_TYPE,
        recognize=recognize,
        describe=describe,
        keys=keys,
        head=_HEAD,
        names=dict.fromkeys(_IN_CONFIG, ""),
        settings=settings,
    ),
)
