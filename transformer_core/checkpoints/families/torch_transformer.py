"""Models of torch.nn.Transformer or nn.TransformerEncoder: a state dict, and a config.json of a few words.

Sizes and layers are read off the tensors. What no tensor says stands in config.json, beside the weights:

{"model_type": "torch_transformer", "n_heads": 8, "embedding": "embed.weight", "output": "out.weight",
 "positions": "sinusoidal_interleaved"}

- embedding: the key of the token embedding; of a source and a target with one each, a list of both.
- output: the key of the last linear layer's matrix; without it a model of an encoder makes no predictions.
- positions: a name as in `ModelConfig`, or "position_table": the key of a table that is added to the embeddings.
- as they are in torch where nothing is said: activation ("relu"), norm_first (false), layer_norm_eps (1e-5).
- causal (false): an encoder with a causal mask, which is a decoder. scale_embeddings (false): times sqrt(d_model).
- max_seq_len (512), pad_id (none), bos_id (1), eos_id (2).
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.family import Entry, Family, module
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig, Positions
from transformer_core.errors import CheckpointError, Message

MODEL_TYPE = "torch_transformer"
STACKS = ("encoder", "decoder")
_LAYER = re.compile(
    r"(?P<stack>.*?)layers\.(?P<i>\d+)\.(?P<part>self_attn|multihead_attn|linear\d|norm\d)\.(?P<rest>.+)"
)
_POSITIONS: dict[str, Positions] = {
    name: name
    for name in ("sinusoidal_interleaved", "sinusoidal_halves", "none")  # of a table: learned
}
_FOUND = "_found"  # what the tensors say, among the values


class Renamed(Mapping[str, Tensor]):
    """Tensors under the keys of this file's table."""

    def __init__(self, tensors: Mapping[str, Tensor], keys: Mapping[str, str]) -> None:
        """Name them.

        Args:
            tensors: by their keys in the file.
            keys: the key in the file, by that of the table; what is not named keeps its own.
        """
        others = set(tensors) - set(keys.values())
        self._tensors, self._keys = tensors, {**keys, **{key: key for key in tensors if key in others}}

    def __getitem__(self, key: str) -> Tensor:
        """Return a tensor."""
        return self._tensors[self._keys[key]]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._keys)

    def __len__(self) -> int:
        """Return how many keys there are."""
        return len(self._keys)


def described(
    values: Mapping[str, Any], tensors: Mapping[str, Tensor], *, where: str | Message
) -> tuple[dict[str, Any], Mapping[str, Tensor]]:
    """Return the description with what the tensors say beside it, and the tensors under the keys of the table.

    Args:
        values: the object in config.json.
        tensors: by their keys in the file.
        where: what to call the source in messages.

    Raises:
        CheckpointError: there are no such layers, several stacks of a kind, or a key that is named and not there.
    """
    stacks = _stacks(tensors)
    if not stacks or len(set(stacks.values())) != len(stacks):
        raise CheckpointError(
            "{where} is declared as {family} but contains {n} stacks of such layers; expected one "
            "encoder, or one encoder and one decoder",
            where=where,
            family=MODEL_TYPE,
            n=len(stacks),
        )
    keys: dict[str, str] = {}
    for key in tensors:
        for prefix, stack in stacks.items():
            if key.startswith(f"{prefix}layers.") or key in (f"{prefix}norm.weight", f"{prefix}norm.bias"):
                keys[f"{stack}.{key.removeprefix(prefix)}"] = key
    beside = sorted(set(tensors) - set(keys.values()))
    named = values.get("embedding")
    source, target = named if isinstance(named, list) and len(named) == 2 else (named, named)
    fields: dict[str, Any] = {
        "embedding.0": source,
        "output.weight": values.get("output"),
        "positions": values.get("position_table"),
    }
    if "decoder" in stacks.values():
        fields["embedding.1"] = target
    for name, named_key in fields.items():
        if named_key is not None and named_key not in beside:
            raise CheckpointError(
                "{where} has no weight {name!r}, which {config} refers to; apart from its layers it has {known}",
                where=where,
                name=named_key,
                config="config.json",
                known=", ".join(beside[:8]) or Message("none"),
            )
        if named_key is not None:
            keys[name] = named_key
    bias = f"{str(keys.get('output.weight')).removesuffix('weight')}bias"
    if bias in beside:
        keys["output.bias"] = bias
    weights = Renamed(tensors, keys)
    return {**values, _FOUND: {key: tuple(weights[key].shape) for key in keys}}, weights


def read(options: Options) -> ModelConfig:
    """Return our configuration of such a model.

    Source: the classes of torch.nn, which follow Vaswani et al. 2017.
    """
    shapes: Mapping[str, tuple[int, ...]] = options.value(_FOUND, {})
    options.idle("embedding", "output", "position_table")
    n_layers = {
        stack: len({key.split(".")[2] for key in shapes if key.startswith(f"{stack}.layers.")}) for stack in STACKS
    }
    if len(shapes.get("embedding.0", ())) != 2 or not n_layers["encoder"]:
        raise options.error("embedding", Message("specify the key of the token embedding for a model with an encoder"))
    (vocab_size, d_model), table = shapes["embedding.0"], shapes.get("positions")
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
        max_seq_len=options.whole("max_seq_len", 512) if table is None else math.prod(table[:-1]),
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
    """Return where each tensor of such a model goes, by the keys of `described`."""
    parts = ("weight", "bias") if config.feed_forward_bias else ("weight",)
    is_pair = config.architecture == "encoder_decoder"
    ours_of = {"encoder": "decoder" if config.architecture == "decoder_only" else "encoder", "decoder": "decoder"}
    stacks = {stack: ours for stack, ours in ours_of.items() if stack == "encoder" or is_pair}
    entries = [Entry(f"embedding.{i}", (f"{ours}.embed.weight",)) for i, ours in enumerate(stacks.values())]
    if config.positions == "learned":
        tables = tuple(f"{ours}.pos_embed.table" for ours in stacks.values())
        entries.append(Entry("positions", tables, lambda table: [table.flatten(end_dim=-2)] * len(tables)))
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


def example(tensors: Mapping[str, Tensor]) -> str:
    """Return a config.json for a state dict with such layers, as far as it can be guessed; "" where it has none."""
    stacks = _stacks(tensors)
    if not stacks:
        return ""
    beside = [key for key in tensors if not _LAYER.fullmatch(key) and tensors[key].dim() == 2]
    embedding = next((key for key in beside if "emb" in key.lower() and "pos" not in key.lower()), "embedding.weight")
    values = {"model_type": MODEL_TYPE, "n_heads": 8, "embedding": embedding}
    output = next((key for key in reversed(beside) if key != embedding and "pos" not in key.lower()), None)
    values |= {"output": output} if output else {}
    return json.dumps(values | {"positions": "sinusoidal_interleaved"})


def _stacks(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Return the stacks of layers by what stands before "layers." in their keys: "encoder" or "decoder"."""
    parts: dict[str, set[str]] = {}
    for match in filter(None, map(_LAYER.fullmatch, tensors)):
        parts.setdefault(match["stack"], set()).add(match["part"])
    return {
        stack: "decoder" if "multihead_attn" in names else "encoder"
        for stack, names in parts.items()
        if {"self_attn", "linear1", "linear2"} <= names
    }


FAMILIES = (Family(model_type=MODEL_TYPE, read=read, keys=keys, head="output.weight"),)
