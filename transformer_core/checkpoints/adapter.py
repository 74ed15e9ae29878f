"""LoRA adapters of the PEFT library: added to the weights of their base model as these are read.

Source: Hu et al. 2022, sec. 4.1; Kalajdzievski 2023, for the rank-stabilized scale.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer_core.checked_fields import is_number
from transformer_core.checkpoints.checkpoint import read_json
from transformer_core.checkpoints.pickles import StateDict
from transformer_core.checkpoints.tensor_files import ADAPTER, TensorFiles, weight_files
from transformer_core.checkpoints.wrappers import LazyTensors
from transformer_core.errors import CheckpointError, Message

WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")

_KEY = re.compile(r"(?P<module>.+)\.lora_(?P<factor>[AB])(\.default)?\.weight")
MERGED = Message("The adapter was merged into its base model, {base}.")
_WRAPPERS = re.compile(r"(modules_to_save|base_layer|original_module)\.(default\.)?")
_UNSUPPORTED = {  # options that change the computation, by the names of their methods
    "use_dora": "DoRA",
    "use_qalora": "QALoRA",
    "use_bdlora": "BD-LoRA",
    "alora_invocation_tokens": "activated LoRA",
    "layer_replication": "layer replication",
    "lora_bias": "LoRA biases",
    "arrow_config": "Arrow",
    "trainable_token_indices": "trainable tokens",
}
_CHANGES_BASE = ("pissa", "olora", "corda", "loftq", "lora_ga")  # initializations that subtract from the base's weights


@dataclass(frozen=True, kw_only=True)
class _Change:
    """The product of two matrices, added to a weight."""

    a: Tensor  # [rank, in]
    b: Tensor  # [out, rank]
    scale: float

    def added_to(self, weight: Tensor, *, is_transposed: bool) -> Tensor:
        """Return W + scale * B A; raises ValueError if the shapes do not match."""
        shape = (self.b.shape[0], self.a.shape[1])
        if weight.shape not in (shape, shape[::-1]):
            raise ValueError
        product = self.scale * (self.b.float() @ self.a.float())  # [out, in]
        is_transposed = is_transposed if shape == shape[::-1] else weight.shape != shape
        return (weight.float() + (product.T if is_transposed else product)).to(weight.dtype)


class Merged(LazyTensors):
    """The tensors of a base model with those of an adapter merged into them on access."""

    def __init__(self, base: Mapping[str, Tensor], adapter: "Adapter") -> None:
        """Find the weight in the base for each matrix of the adapter.

        Raises:
            CheckpointError: the base lacks the module of a matrix, or has several that it may belong to.
        """
        self._base, self._adapter = base, adapter
        self._changes = {self._key_in_base(f"{module}.weight"): change for module, change in adapter.changes.items()}
        self._whole = {self._key_in_base(key, or_new=True): tensor for key, tensor in adapter.whole.items()}
        self._keys = dict.fromkeys((*base, *self._whole))

    def __getitem__(self, key: str) -> Tensor:
        weight = self._whole[key] if key in self._whole else self._base[key]
        if key not in self._changes:
            return weight
        try:
            return self._changes[key].added_to(weight, is_transposed=self._adapter.is_transposed)
        except ValueError:
            raise CheckpointError(
                "{where}: the matrices for {name!r} do not have the shape of this weight in {base}, {shape}; the "
                "adapter belongs to another model",
                where=self._adapter.where,
                name=key,
                base=self._adapter.base,
                shape=tuple(weight.shape),
            ) from None

    def described(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the base's config.json, with the new size of the vocabulary if the adapter resizes its embedding."""
        sizes = {
            len(tensor)
            for key, tensor in self._whole.items()
            if tensor.ndim == 2 and key in self._base and len(self._base[key]) == values.get("vocab_size")
        }
        return {**values, "vocab_size": sizes.pop()} if len(sizes) == 1 else values

    def _key_in_base(self, key: str, *, or_new: bool = False) -> str:
        """Return the base's key for one of the adapter; the two may differ by a prefix, such as "transformer."."""
        if key in self._base:
            return key
        keys = [name for name in self._base if name.endswith(f".{key}") or key.endswith(f".{name}")]
        if len(keys) == 1:
            return keys[0]
        if or_new and not keys:  # such as a classification head
            return key
        raise CheckpointError(
            "{where} changes {name!r}, which {base} does not have; the adapter belongs to another model",
            where=self._adapter.where,
            name=key,
            base=self._adapter.base,
        )


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """The content of an adapter's folder."""

    where: str | Message  # its name in messages
    base: str  # id or path of the base model
    revision: str | None  # of the base model
    changes: Mapping[str, _Change]  # by module of the base model
    whole: Mapping[str, Tensor]  # replaces tensors of the base model, or is added to them
    is_transposed: bool  # weights are stored as [in, out]


def is_adapter(folder: Path) -> bool:
    """Return whether a folder contains an adapter instead of a model."""
    return (folder / ADAPTER).is_file() and not weight_files(folder)


def read_adapter(folder: Path, *, where: str | Message) -> Adapter:
    """Read the adapter in a folder.

    Raises:
        CheckpointError: it is damaged, has no base model, or is not a plain LoRA.
    """
    about = read_json(folder, ADAPTER)
    kind, base = str(about.get("peft_type")), about.get("base_model_name_or_path")
    methods = [name for option, name in _UNSUPPORTED.items() if about.get(option)]
    start = str(about.get("init_lora_weights")).lower()
    methods += [start for name in _CHANGES_BASE if start.startswith(name)]
    if kind != "LORA" or methods:
        raise CheckpointError(
            "{where} is an adapter of type {kind}; only LoRA can be merged here; merge it with merge_and_unload() of "
            "PEFT, save the result, and load that",
            where=where,
            kind=(methods or [kind])[0][:40],
        )
    if not isinstance(base, str) or not base:
        raise CheckpointError(
            "{where} is an adapter, but its {file} does not name a base model (base_model_name_or_path); add it",
            where=where,
            file=ADAPTER,
        )
    paths = [folder / name for name in WEIGHTS if (folder / name).is_file()]
    if not paths:
        raise CheckpointError(
            "{where} has no weights ({file}); copy the whole folder of the adapter", where=where, file=WEIGHTS[0]
        )
    tensors: Mapping[str, Tensor] = TensorFiles(paths[:1]) if paths[0].name == WEIGHTS[0] else StateDict.read(paths[:1])
    changes, whole = _sorted(tensors, about, where)
    revision = about.get("revision")
    return Adapter(
        where=where,
        base=base,
        revision=revision if isinstance(revision, str) else None,
        changes=changes,
        whole=whole,
        is_transposed=bool(about.get("fan_in_fan_out")),
    )


def _sorted(
    tensors: Mapping[str, Tensor], about: Mapping[str, Any], where: str | Message
) -> tuple[dict[str, _Change], dict[str, Tensor]]:
    """Return the changes by module, and all other tensors by their keys in the base model."""
    factors: dict[str, dict[str, Tensor]] = {}
    whole: dict[str, Tensor] = {}
    for key in tensors:
        plain = key.removeprefix("base_model.model.")
        if match := _KEY.fullmatch(plain):
            factors.setdefault(match["module"].removesuffix(".base_layer"), {})[match["factor"]] = tensors[key]
        elif "lora_" in plain:
            raise CheckpointError(
                "{where} contains {name!r}; only changes of linear layers can be merged here; merge it with "
                "merge_and_unload() of PEFT, save the result, and load that",
                where=where,
                name=key,
            )
        else:
            whole[_WRAPPERS.sub("", plain)] = tensors[key]
    changes = {}
    for module, pair in factors.items():
        a, b = pair.get("A"), pair.get("B")
        if a is None or b is None or a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[1] or not a.shape[0]:
            raise CheckpointError(
                "{where} is damaged: {name!r} does not have two matrices of one rank; copy it again",
                where=where,
                name=module,
            )
        changes[module] = _Change(a=a, b=b, scale=_scale(about, module, a.shape[0], where))
    return changes, whole


def _scale(about: Mapping[str, Any], module: str, rank: int, where: str | Message) -> float:
    """Return alpha / rank, or alpha / sqrt(rank) for a rank-stabilized adapter."""
    alpha = about.get("lora_alpha", 8)
    patterns = about.get("alpha_pattern") or {}
    for pattern in patterns if isinstance(patterns, dict) else ("?",):
        name = pattern.removeprefix("^")
        if not re.fullmatch(r"[\w.]+", name):  # a regular expression of a stranger may run forever
            raise CheckpointError(
                "{where}: alpha_pattern = {value} is not supported; only names of modules are",
                where=where,
                value=repr(patterns)[:80],
            )
        if module == name or (name == pattern and module.endswith(f".{name}")):
            alpha = patterns[pattern]
            break
    if not is_number(alpha):
        raise CheckpointError(
            "{where}: lora_alpha = {value} is not supported; expected a number", where=where, value=repr(alpha)[:80]
        )
    return float(alpha / (math.sqrt(rank) if about.get("use_rslora") else rank))
