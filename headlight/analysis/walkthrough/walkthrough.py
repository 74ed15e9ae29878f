"""A walk through one head on one text: the model's own matrices, each number with its formula, and their proof."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float

from headlight.analysis.trace.attentions import sides_of
from headlight.analysis.trace.traced_forward import captured
from headlight.analysis.walkthrough.filling import Weights
from headlight.analysis.walkthrough.formulas import stages_of
from headlight.analysis.walkthrough.numbers import Formulas
from headlight.analysis.walkthrough.outline import PAIRS, Number, Outline, Stage, WalkInputs, WalkMatrix, pair_factors
from headlight.analysis.walkthrough.proving import Proof, TorchNumbers, prove, torch_numbers
from headlight.analysis.walkthrough.recomputing import (
    Recomputed,
    attention_of,
    distance_bias,
    quantities_of,
    recompute,
    sites_to_recompute,
)
from transformer_core.cached_property import cached_property
from transformer_core.errors import SiteError, mark
from transformer_core.model.transformer import Transformer

NO_QUANTITY = mark("this walkthrough has no quantity {name}; it has {there}")
NO_PLACE = mark("{name} has rows 0 to {last_row} and columns 0 to {last_column}; got {row}, {column}")


@dataclass(kw_only=True, eq=False)
class Walkthrough:
    """One head on one text, stage by stage."""

    outline: Outline
    weights: Weights  # of its block
    inputs: WalkInputs
    values: Mapping[str, Float[np.ndarray, "_ _"]]  # the model's own numbers, by quantity
    float64: Recomputed  # the same numbers, computed in float64
    query_labels: tuple[str, ...]  # the tokens that look
    key_labels: tuple[str, ...]  # the selected tokens
    dtype: str  # that the model computes in, such as "float32"
    device: str

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that this model has, in their order."""
        return stages_of(self.outline, forbids=not self.values["mask"].all())

    @cached_property
    def quantities(self) -> Mapping[str, WalkMatrix]:
        """The model's own numbers, by name."""
        described = self.outline.quantities
        return {name: WalkMatrix(**vars(of), name=name, values=self.values[name]) for name, of in described.items()}

    @property
    def recomputed(self) -> Mapping[str, Float[np.ndarray, "_ _"]]:
        """Every quantity in float64, by name, as the model's own modules compute it from the same inputs."""
        return self.float64.values

    @property
    def intervened(self) -> Mapping[str, Bool[np.ndarray, "_ _"]]:
        """By quantity, which numbers an intervention set; without quantities that none acts on."""
        return self.float64.intervened

    def pairs(self, name: str, query: int) -> Float[np.ndarray, "key d_head"]:
        """Return the product of a query with each key.

        Args:
            name: "elementwise", q ⊙ k, which sums to the dot product over `d_head`; or "weighted", each key's value
                times its weight, which sums to the query's row of z over `key`.
            query: its number.
        """
        left, right = pair_factors(self.values, name, query)
        return left * right

    def number(self, name: str, row: int, column: int) -> Number:
        """Return one number, with its formula filled in.

        Args:
            name: of a quantity; or "elementwise" (q ⊙ k) or "weighted" (weights times values).
            row: of the quantity; of the last two, query times the number of keys, plus key.
            column: of the quantity; of the last two, the dimension.

        Raises:
            SiteError: a quantity, or a place, that the walk does not have.
        """
        rows, columns = self._shape(name)
        if not (0 <= row < rows and 0 <= column < columns):
            last = {"last_row": rows - 1, "last_column": columns - 1}
            raise SiteError(NO_PLACE, name=name, row=row, column=column, **last)
        described = PAIRS.get(name) or self.outline.quantities[name]
        by_torch = self._torch.values.get(name)
        formula = self._formulas.of(name, row, column)
        if name in self.intervened and self.intervened[name][row, column]:
            formula = replace(formula, note="intervention")
        return Number(
            **vars(formula),
            name=name,
            symbol=described.symbol,
            row=row,
            column=column,
            row_kind=described.rows,
            column_kind=described.columns,
            row_place=self._place(described.rows, row),
            column_place=self._place(described.columns, column),
            value=_at(self.values, name, row, column),
            recomputed=_at(self.float64.values, name, row, column),
            mha=None if by_torch is None or np.isnan(by_torch[row, column]) else float(by_torch[row, column]),
        )

    def proof(self) -> Proof:
        """Hold every number against the one that the model's own modules give in float64.

        Pattern, z and what comes of them are held against torch's own attention besides.
        """
        return self._proof

    @cached_property
    def _proof(self) -> Proof:
        return prove(self.values, self.recomputed, self._torch, dtype=self.dtype, device=self.device)

    @cached_property
    def _torch(self) -> TorchNumbers:
        again = self.float64
        is_intervened = again.is_attention_intervened
        return torch_numbers(self.outline, self.weights, self.values, again.bias, is_intervened=is_intervened)

    @cached_property
    def _formulas(self) -> Formulas:
        keys = [_named(key, label) for key, label in enumerate(self.key_labels)]
        return Formulas(self.outline, self.weights, self.inputs, self.float64, self.values, keys)

    def _shape(self, name: str) -> tuple[int, int]:
        """Return how many rows and columns there are.

        Raises:
            SiteError: there is no such quantity.
        """
        if name in PAIRS:
            return self.values["pattern"].size, self.values["v"].shape[1]
        if name not in self.values:
            raise SiteError(NO_QUANTITY, name=repr(name), there=", ".join(self.values))
        rows, columns = self.values[name].shape
        return rows, columns

    def _place(self, kind: str, index: int) -> str:
        """Return an index with its token, where a token stands there."""
        if kind == "query key":
            query, key = divmod(index, len(self.key_labels))
            return f"{self._place('query', query)} → {self._place('key', key)}"
        labels = {"query": self.query_labels, "key": self.key_labels}.get(kind)
        return str(index) if labels is None else _named(index, labels[index])


def _at(values: Mapping[str, Float[np.ndarray, "_ _"]], name: str, row: int, column: int) -> float:
    """Return one number of a quantity, or of what a query does to a key."""
    if name not in PAIRS:
        return float(values[name][row, column])
    query, key = divmod(row, values["pattern"].shape[1])
    left, right = pair_factors(values, name, query)
    return float(left[key, column] * right[key, column])


def _named(index: int, label: str) -> str:
    return f"{index} '{label}'"


@torch.inference_mode()
def walk(
    model: Transformer,
    inputs: Sequence[Sequence[int]],
    *,
    attention: str,
    layer: int,
    head: int,
    labels: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Walkthrough:
    """Run the model once over a text, watched, and return every matrix on the way through one head.

    Args:
        model: in evaluation mode, on any device and in any precision.
        inputs: tokens of the text, and of the decoder's input where there are two stacks: `ModelRun.inputs`.
        attention: "encoder", "decoder" or "cross".
        layer: from 0.
        head: from 0.
        labels: of the queries' and of the keys' tokens: `ModelRun.labels(attention)`; None: the tokens' numbers.

    Returns:
        The numbers are those of this one forward; values that the model never holds, such as the dot products before
        they are divided, are computed from them in float32, and have no site.

    Raises:
        ConfigError: an attention, a layer or a head that the model does not have.
        TextError: tokens that the model cannot take.
    """
    outline = Outline(model.config, attention=attention, layer=layer, head=head)
    sites = {site for site in outline.sites.values() if site is not None}
    origins = {"x": outline.origin_of_x()} | ({"memory": outline.origin_of_memory()} if outline.is_cross else {})
    sites |= {site for origin in origins.values() for site in origin.sites} | sites_to_recompute(outline)
    activations = captured(model, inputs, *sorted(sites))
    sides = dict(zip(sides_of(model.config.architecture), inputs, strict=False))  # segments are no side
    queries, keys = (sides[side] for side in (outline.attention.queries_from, outline.attention.keys_from))
    arrays = {site: value.float().cpu() for site, value in activations.items()}
    parts = {name: {site: arrays[site][0].numpy() for site in origin.sites} for name, origin in origins.items()}
    norms = [origin.norm for origin in origins.values() if origin.norm is not None]
    walked = attention_of(model.get_submodule(outline.block), outline)
    bias = distance_bias(model, outline, len(queries))
    x = activations[outline.sites["x"] or ""]
    query_labels, key_labels = labels or (map(str, queries), map(str, keys))
    return Walkthrough(
        outline=outline,
        weights=Weights.of(model, (outline.block, f"{outline.stack}.position_bias", *norms)),
        inputs=WalkInputs(keys=tuple(keys), x_parts=parts["x"], memory_parts=parts.get("memory", {})),
        values=quantities_of(outline, walked, bias, arrays),
        float64=recompute(model, outline, activations),
        query_labels=tuple(query_labels),
        key_labels=tuple(key_labels),
        dtype=str(x.dtype).removeprefix("torch."),
        device=str(x.device),
    )
