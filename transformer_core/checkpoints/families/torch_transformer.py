"""Models of torch.nn.Transformer or nn.TransformerEncoder: a state dict, and a short config.json.

Sizes and layers follow from the tensors. Everything else is in config.json, in the same folder:

{"model_type": "torch_transformer", "n_heads": 4, "embedding": "embed.weight", "output": "out.weight",
 "positions": "sinusoidal_interleaved"}

- embedding: the key of the token embedding, or a list of those of source and target.
- output: the key of the output layer's matrix; without it an encoder makes no predictions.
- positions: a name as in `ModelConfig`, or "position_table": the key of a table that is added to the embeddings, or a
  list of two. The state dict may contain the table of the named sinusoidal positions.
- ignored: keys of other layers, such as a classifier.
- activation ("relu"), norm_first (false), layer_norm_eps (1e-5): with torch's defaults.
- causal (false): an encoder with a causal mask, which is a decoder. scale_embeddings (false): times sqrt(d_model).
- max_seq_len (512), pad_id (none), bos_id (1), eos_id (2).
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.family import Entry, Family, module
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.wrappers import Renamed, unwrapped_key
from transformer_core.config import ModelConfig, Positions
from transformer_core.errors import CheckpointError, Message
from transformer_core.model.positions import sinusoidal_table

MODEL_TYPE = "torch_transformer"
STACKS, LAST_NORM = ("encoder", "decoder"), ("norm.weight", "norm.bias")
LAYER = re.compile(r"(?P<layers>.+?)\.(?P<i>\d+)\.(?P<part>self_attn|multihead_attn|linear\d|norm\d)\.(?P<rest>.+)")
_POSITIONS: dict[str, Positions] = {
    name: name
    for name in ("sinusoidal_interleaved", "sinusoidal_halves", "none")  # of a table: learned
}
_FOUND = "_found"  # key of the options that follow from the tensors


def described(
    values: Mapping[str, Any], tensors: Mapping[str, Tensor], *, where: str | Message
) -> tuple[dict[str, Any], Mapping[str, Tensor]]:
    """Return the options, completed from the tensors, and the tensors by the keys of the table.

    Args:
        values: the object in config.json.
        tensors: the tensors by their keys in the file.
        where: name of the source in messages.

    Raises:
        CheckpointError: there are no such layers, several stacks of a kind, or a named key is missing.
    """
    stacks = stacks_of(tensors)
    if not stacks or len(set(stacks.values())) != len(stacks):
        raise CheckpointError(
            "{where} is declared as {family} but contains {n} stacks of such layers; expected one "
            "encoder, or one encoder and one decoder",
            where=where,
            family=MODEL_TYPE,
            n=len(stacks),
        )
    keys: dict[str, str] = {}
    for layers, stack in stacks.items():
        parent = layers.removesuffix(layers.rpartition(".")[2])
        keys |= {f"{stack}.{norm}": f"{parent}{norm}" for norm in LAST_NORM if f"{parent}{norm}" in tensors}
        keys |= {f"{stack}.layers.{key[len(layers) + 1 :]}": key for key in tensors if key.startswith(f"{layers}.")}
    others = sorted(set(tensors) - set(keys.values()))
    fields: dict[str, Any] = {"output.weight": values.get("output")}
    for i in range(len(stacks)):
        fields[f"embedding.{i}"] = _of_stack(values.get("embedding"), i)
        fields[f"positions.{i}"] = _of_stack(values.get("position_table"), i)
    for name, named in fields.items():
        if named is None:
            continue
        key = unwrapped_key(str(named))
        if key not in others:
            raise CheckpointError(
                "{where} has no weight {name!r}, which {config} refers to; apart from its layers it has {known}",
                where=where,
                name=named,
                config="config.json",
                known=", ".join(others[:8]) or Message("none"),
            )
        keys[name] = key
    bias = f"{str(keys.get('output.weight')).removesuffix('weight')}bias"
    if bias in others:
        keys["output.bias"] = bias
    _refuse_two_vocabularies(tensors, keys, where)
    shapes: dict[str, Any] = {key: tuple(tensors[name].shape) for key, name in keys.items()}
    left_out = {unwrapped_key(str(key)) for key in values.get("ignored") or ()}
    for key in set(others) - set(keys.values()):
        if str(values.get("positions")) in sinusoidal_kinds(tensors[key]):
            left_out.add(key)
            shapes["n_positions"] = tensors[key].numel() // tensors[key].shape[-1]
        elif "positions" in values and tensors[key].ndim == 3 and 1 in tensors[key].shape[:2]:
            raise CheckpointError(
                "{where}: the table {name!r} does not contain the positions described in config.json; replace "
                '"positions" with "position_table": "{name}"',
                where=where,
                name=key,
            )
    weights = {key: tensors[key] for key in tensors if key not in left_out}
    return {**values, _FOUND: shapes}, Renamed(weights, keys)


def sinusoidal_kinds(table: Tensor) -> list[str]:
    """Return the kinds of sinusoidal positions in a table [n, d_model], possibly with additional axes of length 1."""
    n, width = table.numel() // max(1, table.shape[-1] if table.ndim else 1), table.shape[-1] if table.ndim else 0
    if table.ndim < 2 or n < 2 or width % 2 or not table.is_floating_point() or table.ndim > 3:
        return []
    atol = 1e-4 if table.dtype == torch.float32 else 1e-2
    return [
        f"sinusoidal_{layout}"
        for layout in ("interleaved", "halves")
        if torch.allclose(table.reshape(n, width).float(), sinusoidal_table(n, width, layout), atol=atol)
    ]


def _of_stack(named: object, i: int) -> object:
    """Return the value for stack `i` from a list of two, or the single value for both stacks."""
    return named[i] if isinstance(named, list) and len(named) == 2 else named


def _refuse_two_vocabularies(tensors: Mapping[str, Tensor], keys: Mapping[str, str], where: str | Message) -> None:
    """Check that embeddings and output have the same vocabulary size.

    Raises:
        CheckpointError: they do not.
    """
    tables = [tensors[keys[name]] for name in ("embedding.0", "embedding.1", "output.weight") if name in keys]
    sizes = [table.shape[0] if table.ndim else 0 for table in tables]
    if len(set(sizes)) < 2:
        return
    if "embedding.1" in keys and sizes[0] != sizes[1]:
        raise CheckpointError(
            "{where} has a vocabulary of {n:,} tokens for its source and one of {other:,} for its target; only models "
            "with one vocabulary for both can be read",
            where=where,
            n=sizes[0],
            other=sizes[1],
        )
    raise CheckpointError(
        "{where}: the output {name!r} has {n:,} rows for a vocabulary of {vocab_size:,} tokens, so it does not predict "
        'tokens; name it under "ignored" instead',
        where=where,
        name=keys["output.weight"],
        n=sizes[-1],
        vocab_size=sizes[0],
    )


def read(options: Options) -> ModelConfig:
    """Return our configuration of a torch.nn.Transformer.

    Source: the classes of torch.nn, which follow Vaswani et al. 2017.
    """
    shapes: Mapping[str, Any] = options.value(_FOUND, {})
    options.idle("embedding", "output", "position_table", "ignored")
    n_layers = {
        stack: len({key.split(".")[2] for key in shapes if key.startswith(f"{stack}.layers.")}) for stack in STACKS
    }
    if len(shapes.get("embedding.0", ())) != 2 or not n_layers["encoder"]:
        raise options.error("embedding", Message("specify the key of the token embedding for a model with an encoder"))
    (vocab_size, d_model), table = shapes["embedding.0"], shapes.get("positions.0")
    is_causal, is_pre_norm = options.switch("causal", False), options.switch("norm_first", False)
    has_bias, has_output = "encoder.layers.0.linear1.bias" in shapes, "output.weight" in shapes
    is_pair = n_layers["decoder"] > 0
    last_norms = {f"{stack}.norm.weight" in shapes for stack in STACKS if n_layers[stack]}
    if len(last_norms) != 1 or (is_pre_norm and last_norms != {True}):
        raise options.error(
            "norm_first",
            Message(
                "final normalization is only supported for all stacks or for none; with pre-norm it is always applied"
            ),
        )
    if (is_pair or is_causal) and not has_output:
        raise options.error("output", Message("specify the key of the output layer (the last linear layer)"))
    if table is None and "positions" not in options:
        raise options.error(
            "positions", Message("specify one of {choices}, or position_table", choices=", ".join(_POSITIONS))
        )
    return ModelConfig(
        architecture="encoder_decoder" if is_pair else "decoder_only" if is_causal else "encoder_only",
        vocab_size=vocab_size,
        d_model=d_model,
        d_ff=shapes.get("encoder.layers.0.linear1.weight", (0,))[0],
        n_heads=options.whole("n_heads"),
        n_encoder_layers=0 if is_causal and not is_pair else n_layers["encoder"],
        n_decoder_layers=n_layers["encoder"] if is_causal and not is_pair else n_layers["decoder"],
        max_seq_len=options.whole("max_seq_len", int(shapes.get("n_positions", 512)))
        if table is None
        else math.prod(table[:-1]),
        positions="learned" if table is not None else options.choice("positions", _POSITIONS, "none"),
        norm="layer" if has_bias else "layer_without_bias",
        norm_position="pre" if is_pre_norm else "post",
        final_norm=not is_pre_norm and last_norms == {True},
        layer_norm_eps=options.number("layer_norm_eps", 1e-5),
        activation=options.choice("activation", ACTIVATIONS, "relu"),
        feed_forward_bias=has_bias,
        attention_bias="all" if has_bias else "none",
        scale_embeddings=options.switch("scale_embeddings", False),
        tie_embeddings="none",
        unembed=has_output,
        unembed_bias="output.bias" in shapes,
        dropout=options.number("dropout", 0.1),
        pad_id=options.whole_or_null("pad_id"),
        bos_id=options.whole("bos_id", min(1, vocab_size - 1)),
        eos_id=options.whole("eos_id", min(2, vocab_size - 1)),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a torch.nn.Transformer, by the keys of `described`."""
    parts = ("weight", "bias") if config.feed_forward_bias else ("weight",)
    is_pair = config.architecture == "encoder_decoder"
    ours_of = {"encoder": "decoder" if config.architecture == "decoder_only" else "encoder", "decoder": "decoder"}
    stacks = {stack: ours for stack, ours in ours_of.items() if stack == "encoder" or is_pair}
    entries = [Entry(f"embedding.{i}", (f"{ours}.embed.weight",)) for i, ours in enumerate(stacks.values())]
    if config.positions == "learned":
        entries += [
            Entry(f"positions.{i}", (f"{ours}.pos_embed.table",), lambda table: [table.flatten(end_dim=-2)])
            for i, ours in enumerate(stacks.values())
        ]
    for stack, our_stack in stacks.items():
        if config.has_final_norm:
            entries += module(f"{stack}.norm", f"{our_stack}.ln_final", parts)
        n_layers = config.n_encoder_layers if our_stack == "encoder" else config.n_decoder_layers
        for i in range(n_layers):
            theirs, ours = f"{stack}.layers.{i}", f"{our_stack}.blocks.{i}"
            attentions = {"self_attn": "self_attn"} | ({"multihead_attn": "cross_attn"} if stack == "decoder" else {})
            norms = ("ln1", "ln_cross", "ln2") if stack == "decoder" else ("ln1", "ln2")
            for their_name, our_name in attentions.items():
                for part in parts:
                    names = tuple(f"{ours}.{our_name}.{name}.{part}" for name in ("q", "k", "v"))
                    entries.append(
                        Entry(f"{theirs}.{their_name}.in_proj_{part}", names, lambda tensor: tensor.chunk(3))
                    )
                entries += module(f"{theirs}.{their_name}.out_proj", f"{ours}.{our_name}.out", parts)
            for place, norm in enumerate(norms, start=1):
                entries += module(f"{theirs}.norm{place}", f"{ours}.{norm}", parts)
            entries += module(f"{theirs}.linear1", f"{ours}.mlp.up", parts)
            entries += module(f"{theirs}.linear2", f"{ours}.mlp.down", parts)
    if config.unembed:
        entries += module("output", "unembed", ("weight", "bias") if config.unembed_bias else ("weight",))
    return tuple(entries)


def stacks_of(tensors: Iterable[str]) -> dict[str, str]:
    """Return "encoder" or "decoder" for each stack of layers, by the prefix of its keys."""
    parts: dict[str, set[str]] = {}
    for match in filter(None, map(LAYER.fullmatch, tensors)):
        parts.setdefault(match["layers"], set()).add(match["part"])
    return {
        layers: "decoder" if "multihead_attn" in names else "encoder"
        for layers, names in parts.items()
        if {"self_attn", "linear1", "linear2"} <= names
    }


FAMILIES = (Family(model_type=MODEL_TYPE, read=read, keys=keys, head="output.weight"),)
