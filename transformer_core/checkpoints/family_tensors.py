"""The tensors of a foreign file by the keys of its family's table: each key is used exactly once."""

import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain

import torch
from torch import Tensor

from transformer_core.checkpoints.entries import Entry, computed
from transformer_core.checkpoints.family import EVERYWHERE, JUDGES, Family, Ignored, is_causal_mask
from transformer_core.checkpoints.wrappers import common_prefix, unwrapped
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, Message

_LORA = re.compile(r"(.*\.)?(lora_\w+|ia3_l|base_layer|modules_to_save|original_module)\..+")
_NO_HEAD = Message("It has no language-modeling head, so it makes no predictions.")
_PRECISIONS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


class KeysError(CheckpointError):
    """A file that lacks keys of its family's table, or has others."""


class FamilyTensors:
    """The tensors of a foreign file by the keys of its family's table, checked against the table."""

    def __init__(
        self, family: Family, config: ModelConfig, weights: Mapping[str, Tensor], where: str | Message, classes: object
    ) -> None:
        """Match the keys of the file with those of the table; `classes` are the saved classes in config.json."""
        self._weights, self.notes = unwrapped(weights)
        self._where = where
        self._prefix = self._found_prefix(family, family.keys(config))
        config = self._with_head_of_file(family, config)
        untied = replace(config, tie_embeddings="none")
        tables = {version.tie_embeddings: family.keys(version) for version in (config, untied)}
        self._keys = self._by_table_keys(family, chain(*tables.values()))
        if family.computed is not None:
            own = family.computed(config)
            self._weights = ChainMap(own, self._weights)  # type: ignore[arg-type]  # nothing is written to it
            self._keys |= {key: key for key in own}
        has_own_head = self._has_own_head(family, tables[config.tie_embeddings])
        self.config = untied if has_own_head else config
        self.entries = tables[self.config.tie_embeddings]
        expected = {key for entry in self.entries for key in _keys_of_table(entry)}
        others = [key for key in self._keys if key not in expected]
        unknown = sorted(self._keys[key] for key in others if not self._may_be_ignored(family, key))
        missing = [entry.key for entry in self.entries if not self._keys_of(entry)]
        missing += [key for entry in self.entries for key in entry.others if key not in self._keys]
        if heads := sorted({key.rpartition(".")[0] for key in others if _ignored(family, key) is JUDGES}):
            self.notes.append(Message("Its classification head is not used: {name}.", name=", ".join(heads)))
        if missing or unknown:
            raise KeysError(self._complaint(family, missing, unknown, classes))

    def take(self, entry: Entry) -> tuple[str, Tensor]:
        """Return an entry's key in the file, and its tensor, joined if there are several; copies must be equal."""
        first, *others = self._keys_of(entry)
        weight = self._of_known_precision(first)
        for other in others:
            if not _is_same(weight, self._weights[other]):
                raise CheckpointError(
                    "{where}: {name!r} must equal {first!r} but does not; the file is damaged, or was made "
                    "for another program",
                    where=self._where,
                    name=other,
                    first=first,
                )
        if entry.others:
            tensors = [weight, *(self._of_known_precision(self._keys[key]) for key in entry.others)]
            weight = computed(first, lambda: entry.joined(tensors))
        return first, weight

    def _of_known_precision(self, key: str) -> Tensor:
        weight = self._weights[key].detach()
        if weight.dtype not in _PRECISIONS:
            raise CheckpointError(
                "{where}: {name!r} has dtype {dtype}; choose a version of this model in float32, float16 or bfloat16",
                where=self._where,
                name=key,
                dtype=weight.dtype,
            )
        return weight

    def cut(self, entry: Entry, key: str, weight: Tensor, expected: Mapping[str, torch.Size]) -> list[Tensor]:
        """Split a tensor into the parameters that it fills, which must have the expected shapes."""
        shapes = [expected[name] for name in entry.names]
        try:
            parts = list(entry.cut(weight))
        except (IndexError, RuntimeError):  # too few axes to split
            parts = []
        if [part.shape for part in parts] != shapes:
            expected_shapes = ", ".join(
                f"{name} {tuple(shape)}" for name, shape in zip(entry.names, shapes, strict=True)
            )
            raise CheckpointError(
                "{where}: {name!r} is {found}, expected {wanted}; the weights belong to another configuration",
                where=self._where,
                name=key,
                found=tuple(weight.shape),
                wanted=expected_shapes,
            )
        return parts

    def _by_table_keys(self, family: Family, entries: Iterable[Entry]) -> dict[str, str]:
        """Return the key in the file for each key of the table."""
        known = {key for entry in entries for key in _keys_of_table(entry)}
        by_table: dict[str, str] = {}

        def is_known(key: str) -> bool:
            return key in known or _ignored(family, key) is not None

        for key in self._weights:
            in_table = _newer(family, key).removeprefix(self._prefix)
            prefixed = family.prefix + in_table
            if not is_known(in_table) and is_known(prefixed):
                in_table = prefixed
            if in_table in by_table:
                raise CheckpointError(
                    "{where} contains the same weight twice, as {name!r} and {other!r}",
                    where=self._where,
                    name=by_table[in_table],
                    other=key,
                )
            by_table[in_table] = key
        return by_table

    def _found_prefix(self, family: Family, entries: Iterable[Entry]) -> str:
        """Return the common prefix of the keys, and add a note about it."""
        full = {family.head, *(key for entry in entries for key in _keys_of_table(entry))}
        bare = {key.removeprefix(family.prefix) for key in full}
        prefix = common_prefix((_newer(family, key) for key in self._weights), full | bare, where=self._where)
        if prefix:
            self.notes.append(
                Message("The prefix “{prefix}” was removed from the names of its weights.", prefix=prefix)
            )
        return prefix

    def _with_head_of_file(self, family: Family, config: ModelConfig) -> ModelConfig:
        """Return the configuration without an output layer, or its bias, if the file has none.

        A decoder whose output layer is tied has one in any case, unless it was trained for classification.
        """
        entries = family.keys(config)
        keys = self._by_table_keys(family, entries)
        head = [entry for entry in entries if entry.names[0].startswith("unembed")]
        of_head = {key for entry in head for key in (entry.key, *entry.copies)}
        if any(key in keys and _ignored(family, key) is None for key in (*of_head, family.head)):
            return config
        is_tied = config.tie_embeddings != "none" or any(
            "unembed.weight" in entry.names and entry.instead for entry in head
        )
        if config.has_decoder and is_tied and not any(_ignored(family, key) is JUDGES for key in keys):
            return replace(config, unembed_bias=False)
        self.notes.append(_NO_HEAD)
        return config.without_output_layer()

    def _has_own_head(self, family: Family, tied: Iterable[Entry]) -> bool:
        """Return whether the file has an output layer that differs from the embedding, although config.json ties them.

        The file then takes precedence, as in the `transformers` library; the larger T5 models are an example.
        """
        embedding = next((entry for entry in tied if family.head in entry.copies), None)
        if embedding is None or family.head not in self._keys:
            return False
        head = self._weights[self._keys[family.head]]
        others = (key for key in self._keys_of(embedding) if key != self._keys[family.head])
        return not all(_is_same(self._weights[key], head) for key in others)

    def _may_be_ignored(self, family: Family, key: str) -> bool:
        """Return whether a key is not needed; if so, its tensor must have the values that this core computes."""
        ignored = _ignored(family, key)
        if ignored is None:
            return self.config.has_decoder and is_causal_mask(self._weights[self._keys[key]])
        if ignored.holds is not None and not ignored.holds(self._weights[self._keys[key]], self.config):
            raise CheckpointError(
                "{where}: {name!r} has unexpected values ({reason}), so this model cannot be computed correctly",
                where=self._where,
                name=self._keys[key],
                reason=ignored.reason,
            )
        return True

    def _keys_of(self, entry: Entry) -> list[str]:
        """Return the keys of an entry's tensor in the file."""
        keys = [self._keys[key] for key in (entry.key, *entry.copies) if key in self._keys]
        return keys or [self._keys[key] for key in entry.instead if key in self._keys][:1]

    def _complaint(self, family: Family, missing: list[str], unknown: list[str], classes: object) -> Message:
        where: str | Message = self._where
        if isinstance(classes, list) and classes:
            saved_as = Message(" (saved as {classes})", classes=", ".join(map(str, classes)))
            where = Message.joined("", (where, saved_as))
        if any(map(_LORA.fullmatch, unknown)):
            return Message(
                "{where} contains the weights of an adapter in addition to those of the model; merge them with "
                "merge_and_unload(), save the result, and import that",
                where=where,
            )
        if not missing and family.program:
            return Message(
                "{where} contains {name!r}, which is not part of {layout} with the options supported here",
                where=where,
                name=unknown[0],
                layout=family.program,
            )
        if not missing:
            return Message(
                "{where} contains {name!r}, which is not part of a {family} model with this config.json; choose "
                "another version of the model",
                where=where,
                name=unknown[0],
                family=family.model_type,
            )
        nearest = get_close_matches(missing[0], unknown, n=1) or unknown[:1]
        instead = Message(" and contains {name!r}, which is unknown", name=nearest[0]) if nearest else ""
        if family.program:
            way_out = Message(
                "the file is incomplete, or its program is not the original {layout}", layout=family.program
            )
        elif len(missing) == len(self.entries):
            way_out = Message(
                "none of its weights has a name used by {family}, so config.json describes another model, or the "
                "weights were saved under other names",
                family=family.model_type,
            )
        elif missing[0].startswith(family.prefix):
            way_out = Message("the file is incomplete, or belongs to another config.json; copy the whole model again")
        else:
            way_out = Message("the checkpoint has no language-modeling head; choose a version that has one")
        return Message(
            "{where} lacks the weight {name!r}{instead}; {way_out}",
            where=where,
            name=missing[0],
            instead=instead,
            way_out=way_out,
        )


def _keys_of_table(entry: Entry) -> tuple[str, ...]:
    """Return the keys that a file may have an entry's tensors under."""
    return (entry.key, *entry.copies, *entry.others, *entry.instead)


def _is_same(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same values in the same precision."""
    return one.dtype == other.dtype and torch.equal(one, other)


def _newer(family: Family, key: str) -> str:
    """Return a key under its name in newer files."""
    for old, new in family.renamed.items():
        key = key.replace(old, new)
    return key


def _ignored(family: Family, key: str) -> Ignored | None:
    """Return the reason why a key is not needed; None if it is needed or unknown."""
    return next((ignored for ignored in (*family.ignored, *EVERYWHERE) if re.fullmatch(ignored.pattern, key)), None)
