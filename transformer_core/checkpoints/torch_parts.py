"""The parts of a model around torch.nn layers: its stacks by torch's names, the others by their names and shapes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from transformer_core.checkpoints.layout import SavedModel
from transformer_core.checkpoints.sinusoids import sinusoidal_kinds
from transformer_core.checkpoints.wrappers import unwrapped_key
from transformer_core.errors import CheckpointError, Message

STACKS = ("encoder", "decoder")
_LAST_NORM = ("norm.weight", "norm.bias")
_LAYER = re.compile(r"(?P<layers>.+?)\.(?P<i>\d+)\.(?P<part>self_attn|multihead_attn|linear\d|norm\d)\.(?P<rest>.+)")
_OTHER_ATTENTION = re.compile(r".+_attn\.([qkv]_proj_weight|bias_[kv])")
_OUTPUT = ("out", "head", "fc", "proj", "gen", "unembed", "decode", "logit", "classif", "linear")
_SOURCE, _TARGET = ("src", "source", "enc"), ("tgt", "trg", "target", "dec")


@dataclass(frozen=True, kw_only=True)
class TorchParts:
    """The keys of a model's parts."""

    stacks: tuple[str, ...]  # "encoder", or "encoder" and "decoder"
    keys: Mapping[str, str]  # in the file, by those of the layout's table
    positions: str  # "learned", a sinusoidal kind, or "" without a table
    lengths: tuple[int, ...]  # of the tables of positions
    left_out: frozenset[str]  # keys of tensors that are not needed
    notes: tuple[Message, ...]


def stacks_of(tensors: Iterable[str]) -> dict[str, str]:
    """Return "encoder" or "decoder" for each stack of layers, by the prefix of its keys."""
    parts: dict[str, set[str]] = {}
    for match in filter(None, map(_LAYER.fullmatch, tensors)):
        parts.setdefault(match["layers"], set()).add(match["part"])
    return {
        layers: "decoder" if "multihead_attn" in names else "encoder"
        for layers, names in parts.items()
        if {"self_attn", "linear1", "linear2"} <= names
    }


class PartsSearch:
    """The search for the parts of one model; config.json takes precedence.

    Raises:
        CheckpointError: stacks that are not one encoder, or one encoder and one decoder; or a part that is missing, or
            one of several candidates.
    """

    def __init__(self, saved: SavedModel) -> None:
        self._where, self._weights, self._config = saved.folder, saved.weights, saved.config
        self._layers = stacks_of(saved.weights)
        self._stacks = tuple(stack for stack in STACKS if stack in self._layers.values())
        if len(self._layers) != len(self._stacks) or "encoder" not in self._stacks:
            raise CheckpointError(
                "{path} contains {stacks} of torch.nn; expected one encoder, or one encoder and one decoder",
                path=self._where,
                stacks=", ".join(f"{layers} ({stack})" for layers, stack in self._layers.items()),
            )

        if other := next(filter(_OTHER_ATTENTION.fullmatch, saved.weights), None):
            raise CheckpointError(
                "{path} contains {name!r}, of an nn.MultiheadAttention with kdim, vdim or add_bias_kv, which are not "
                "supported; choose a model without them",
                path=self._where,
                name=other,
            )

    def result(self) -> TorchParts:
        """Return the parts."""
        keys = self._keys_of_layers()
        self._others = {key: self._weights[key] for key in self._weights if key not in keys.values()}
        width = self._weights[keys["encoder.layers.0.linear1.weight"]].shape[1]
        tables = [key for key, tensor in self._others.items() if tensor.ndim in (2, 3) and tensor.shape[-1] == width]
        positions = self._named("position_table") or [key for key in tables if _is_of_positions(key, self._others[key])]
        rest = [key for key in tables if key not in positions and self._others[key].ndim == 2]
        linear = [key for key in rest if _bias_of(key) in self._others or _speaks_of(key, _OUTPUT)]
        embeddings = self._embeddings([key for key in rest if key not in linear or _speaks_of(key, ("emb", "lut"))])
        n_tokens = self._others[embeddings[-1]].shape[0]
        output = self._output([key for key in linear if key not in embeddings], n_tokens)
        kinds = [sinusoidal_kinds(self._others[key]) for key in positions]
        is_sinusoidal = bool(kinds) and all(kinds)
        for i in range(len(self._stacks)):
            keys[f"embedding.{i}"] = embeddings[min(i, len(embeddings) - 1)]
            if positions and not is_sinusoidal:
                keys[f"positions.{i}"] = positions[min(i, len(positions) - 1)]
        if output:
            keys["output.weight"] = output
            keys |= {"output.bias": _bias_of(output)} if _bias_of(output) in self._others else {}
        judges = [key for key in linear if key not in keys.values() and self._others[key].shape[0] != width]
        unused = {key for judge in judges for key in (judge, _bias_of(judge)) if key in self._others}
        return TorchParts(
            stacks=self._stacks,
            keys=keys,
            positions=kinds[0][0] if is_sinusoidal else "learned" if positions else "",
            lengths=tuple(self._others[key].numel() // width for key in positions),
            left_out=frozenset(unused | {*self._named("ignored")} | ({*positions} if is_sinusoidal else set())),
            notes=tuple(Message("Its classification head is not used: {name}.", name=key) for key in judges),
        )

    def _keys_of_layers(self) -> dict[str, str]:
        keys: dict[str, str] = {}
        for layers, stack in self._layers.items():
            parent = layers.removesuffix(layers.rpartition(".")[2])
            keys |= {f"{stack}.{norm}": f"{parent}{norm}" for norm in _LAST_NORM if f"{parent}{norm}" in self._weights}
            keys |= {
                f"{stack}.layers.{key[len(layers) + 1 :]}": key for key in self._weights if key.startswith(f"{layers}.")
            }
        return keys

    def _named(self, option: str) -> list[str]:
        """Return the keys that config.json gives for an option, a key or a list; [] without it."""
        value = self._config.get(option)
        names = [unwrapped_key(str(name)) for name in (value if isinstance(value, list) else [value]) if name]
        for name in names:
            if name not in self._others:
                raise CheckpointError(
                    "{where} has no weight {name!r}, which {config} refers to; apart from its layers it has {known}",
                    where=self._where,
                    name=name,
                    config="config.json",
                    known=", ".join(sorted(self._others)[:8]) or Message("none"),
                )
        return names

    def _embeddings(self, candidates: Sequence[str]) -> list[str]:
        """Return the keys of the token embeddings: one, or those of source and target."""
        named = self._named("embedding") or sorted(
            candidates, key=lambda key: _speaks_of(key, _TARGET) and not _speaks_of(key, _SOURCE)
        )
        if not named:
            raise CheckpointError(
                "{where} contains torch.nn layers, but no token embedding of their width; save the state dict of the "
                "whole model",
                where=self._where,
            )
        if len(named) > len(self._stacks):
            raise self._unclear("embedding", Message("the token embedding"), named)
        return named

    def _output(self, candidates: Sequence[str], n_tokens: int) -> str:
        """Return the key of the output layer's matrix; "" for an encoder without one."""
        named = self._named("output") or [key for key in candidates if self._others[key].shape[0] == n_tokens]
        if self._others[named[0]].shape[0] != n_tokens if named else False:
            raise CheckpointError(
                "{where}: the output {name!r} has {n:,} rows for a vocabulary of {vocab_size:,} tokens, so it does not "
                'predict tokens; name it under "ignored" instead',
                where=self._where,
                name=named[0],
                n=self._others[named[0]].shape[0],
                vocab_size=n_tokens,
            )
        if len(named) > 1 or (not named and len(self._stacks) > 1):
            raise self._unclear("output", Message("the output layer"), named)
        return named[0] if named else ""

    def _unclear(self, option: str, part: Message, candidates: Sequence[str]) -> CheckpointError:
        return CheckpointError(
            "{where} contains torch.nn layers, but the names of its weights do not show which is {part}; write its key "
            "into a {config} in the same folder: {example}. Candidates: {candidates}",
            where=self._where,
            part=part,
            config="config.json",
            example=f'{{"{option}": "…"}}',
            candidates=", ".join((candidates or sorted(self._others))[:8]) or Message("none"),
        )


def _is_of_positions(key: str, table: Tensor) -> bool:
    parts = key.lower().replace("_", ".").split(".")
    has_name = any(part.startswith("pos") or part in ("pe", "wpe") for part in parts)
    return table.numel() > table.shape[-1] and (has_name or (table.ndim == 3 and 1 in table.shape[:2]))


def _bias_of(key: str) -> str:
    return key.removesuffix("weight") + "bias"


def _speaks_of(key: str, words: Sequence[str]) -> bool:
    return any(word in key.lower() for word in words)
