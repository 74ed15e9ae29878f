"""A walk through one head on one text: the model's own matrices, each number with its formula, and their proof.

It also gives the inputs of the paper's attention as arrays: the vectors that it reads, its parameters and its mask.
"""

from collections.abc import Callable, Mapping, Sequence
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
    distance_bias,
    quantities_of,
    recompute,
    sites_to_recompute,
)
from transformer_core.cached_property import cached_property
from transformer_core.errors import SiteError, mark
from transformer_core.model.rotary import RotaryPositions
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
    reference: Recomputed  # the same numbers, computed in float64
    query_labels: tuple[str, ...]  # the tokens of the queries
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
        return self.reference.values

    @property
    def intervened(self) -> Mapping[str, Bool[np.ndarray, "_ _"]]:
        """By quantity, which numbers an intervention set; only quantities with any."""
        return self.reference.intervened

    def pairs(self, name: str, query: int) -> Float[np.ndarray, "key d_head"]:
        """Return the product of a query with each key.

        Args:
            name: "elementwise", q ⊙ k, which sums to the dot product over `d_head`; or "weighted", each key's value
                times its weight, which sums to the query's row of z over `key`.
            query: index of the query.
        """
        left, right = pair_factors(self.values, name, query)
        return left * right

    def number(self, name: str, row: int, column: int) -> Number:
        """Return one number, with its formula filled in.

        Args:
            name: of a quantity; or "elementwise" (q ⊙ k) or "weighted" (weights times values).
            row: row of the quantity; for the last two, query * number of keys + key.
            column: column of the quantity; for the last two, the dimension of the head.

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
            recomputed=_at(self.reference.values, name, row, column),
            mha=None if by_torch is None or np.isnan(by_torch[row, column]) else float(by_torch[row, column]),
        )

    def proof(self) -> Proof:
        """Compare every number with the one that the model's own modules compute in float64.

        The pattern, z and what follows from them are also compared with torch's own attention.
        """
        return self._proof

    @cached_property
    def _proof(self) -> Proof:
        return prove(self.values, self.recomputed, self._torch, dtype=self.dtype, device=self.device)

    @cached_property
    def _torch(self) -> TorchNumbers:
        again = self.reference
        is_intervened = again.is_attention_intervened
        return torch_numbers(self.outline, self.weights, self.values, again.bias, is_intervened=is_intervened)

    @cached_property
    def _formulas(self) -> Formulas:
        keys = [_named(key, label) for key, label in enumerate(self.key_labels)]
        return Formulas(self.outline, self.weights, self.inputs, self.reference, self.values, keys)

    def _shape(self, name: str) -> tuple[int, int]:
        """Return the number of rows and columns of a quantity.

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
        """Return an index as a label, with its token if it indexes tokens."""
        if kind == "query key":
            query, key = divmod(index, len(self.key_labels))
            return f"{self._place('query', query)} → {self._place('key', key)}"
        labels = {"query": self.query_labels, "key": self.key_labels}.get(kind)
        return str(index) if labels is None else _named(index, labels[index])


def _at(values: Mapping[str, Float[np.ndarray, "_ _"]], name: str, row: int, column: int) -> float:
    """Return one number of a quantity, or of a product of a query and a key."""
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
    dropout_seed: int | None = None,
) -> Walkthrough:
    """Run the model once over a text with capture, and return every matrix on the way through one head.

    Args:
        model: in evaluation mode, on any device and in any precision.
        inputs: tokens of the text, and of the decoder's input where there are two stacks: `ModelRun.inputs`.
        attention: "encoder", "decoder" or "cross".
        layer: from 0.
        head: from 0.
        labels: of the queries' and of the keys' tokens: `ModelRun.labels(attention)`; None: the tokens' numbers.
        dropout_seed: of the masks of dropout, which adds its stages to the walk; None: no dropout.

    Returns:
        The numbers are those of this one forward pass; values that the model never materializes, such as the dot
        products before they are divided, are computed from them in float32 and have no site.

    Raises:
        ConfigError: an attention, a layer or a head that the model does not have.
        TextError: tokens that the model cannot take.
    """
    outline = Outline(model.config, attention=attention, layer=layer, head=head, dropout_seed=dropout_seed)
    sites = {site for site in outline.sites.values() if site is not None}
    origins = {"x": outline.origin_of_x()} | ({"memory": outline.origin_of_memory()} if outline.is_cross else {})
    sites |= {site for origin in origins.values() for site in origin.sites} | sites_to_recompute(outline)
    activations = captured(model, inputs, *sorted(sites))
    sides = dict(zip(sides_of(model.config.architecture), inputs, strict=False))  # segments are not a side
    queries, keys = (sides[side] for side in (outline.attention.queries_from, outline.attention.keys_from))
    arrays = {site: value.float().cpu() for site, value in activations.items()}
    parts = {name: {site: arrays[site][0].numpy() for site in origin.sites} for name, origin in origins.items()}
    norms = [path for origin in origins.values() for path in (origin.norm, origin.projection) if path is not None]
    bias = distance_bias(model, outline, len(queries))
    x = activations[outline.sites["x"] or ""]
    query_labels, key_labels = labels or (map(str, queries), map(str, keys))
    return Walkthrough(
        outline=outline,
        weights=Weights.of(model, (outline.block, f"{outline.stack}.position_bias", *norms)),
        inputs=WalkInputs(keys=tuple(keys), x_parts=parts["x"], memory_parts=parts.get("memory", {})),
        values=quantities_of(outline, model.get_submodule(outline.block), bias, arrays),
        reference=recompute(model, outline, activations),
        query_labels=tuple(query_labels),
        key_labels=tuple(key_labels),
        dtype=str(x.dtype).removeprefix("torch."),
        device=str(x.device),
    )


NORMALIZED = mark("this model normalizes queries and keys, which the paper does not; choose a model without that")
UNSCALED = mark("this model does not divide its scores by √d_k, as the paper does; choose a model that does")
CAPPED = mark("this model caps its scores, which the paper does not; choose a model without that")
NORMALIZED_AFTER = mark(
    "this model normalizes the attention's output, which the paper does not; choose a model without that"
)
SEES_NOTHING = mark("a query of this text may attend to no key, so its row has no softmax; choose another text")

Rotate = Callable[[Float[np.ndarray, "pos d_head"]], Float[np.ndarray, "pos d_head"]]


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionInputs:
    """The inputs of one attention on one text, in float64; projections are written as in the paper, q = x W_Q + b_Q."""

    x: Float[np.ndarray, "query d_model"]  # input of the query projection, normalized where the model does so
    memory: Float[np.ndarray, "key d_model"] | None  # input of the key and value projections; None: x
    W_Q: Float[np.ndarray, "head d_model d_head"]
    b_Q: Float[np.ndarray, "head d_head"]  # as are the other biases, 0 where the model has none
    W_K: Float[np.ndarray, "head d_model d_head"]  # repeated for each query head of a group
    b_K: Float[np.ndarray, "head d_head"]
    W_V: Float[np.ndarray, "head d_model d_head"]
    b_V: Float[np.ndarray, "head d_head"]
    W_O: Float[np.ndarray, "head_d_head d_model"]
    b_O: Float[np.ndarray, " d_model"]
    mask: Bool[np.ndarray, "query key"]  # True = may attend
    bias: Float[np.ndarray, "head query key"] | None  # that positions add to the scores; None: nothing
    rotate: Rotate | None  # rotates a head's queries and keys by position; None: no rotary positions

    @property
    def n_heads(self) -> int:
        """Heads of queries."""
        return self.W_Q.shape[0]

    @property
    def d_head(self) -> int:
        """The paper's d_k."""
        return self.W_Q.shape[2]


@torch.inference_mode()
def attention_inputs(walk: Walkthrough) -> AttentionInputs:
    """Return the inputs of the attention of a walk through any of its heads.

    Raises:
        SiteError: the model's attention has a part that the paper's formula has no place for.
    """
    outline, weights, config = walk.outline, walk.weights, walk.outline.config
    if config.qk_norm:
        raise SiteError(NORMALIZED)
    if not config.scale_scores:
        raise SiteError(UNSCALED)
    if config.score_cap is not None:
        raise SiteError(CAPPED)
    if config.output_norm:
        raise SiteError(NORMALIZED_AFTER)
    mask = walk.recomputed["mask"] > 0
    if not mask.any(axis=-1).all():
        raise SiteError(SEES_NOTHING)
    (W_Q, b_Q), (W_K, b_K), (W_V, b_V) = (weights.of_heads(f"{outline.module}.{name}", config) for name in "qkv")
    b_O = weights.bias(f"{outline.module}.out")
    rotate: Rotate | None = None
    if outline.is_rotated:
        rotation = RotaryPositions(config)(0, len(mask), torch.device("cpu"))

        def rotate(x: Float[np.ndarray, "pos d_head"]) -> Float[np.ndarray, "pos d_head"]:
            return rotation.rotate(torch.from_numpy(np.array(x))[None, None])[0, 0].numpy()

    return AttentionInputs(
        x=walk.recomputed[outline.read],
        memory=walk.recomputed["memory"] if outline.is_cross else None,
        W_Q=W_Q.swapaxes(1, 2),
        b_Q=b_Q,
        W_K=W_K.swapaxes(1, 2),
        b_K=b_K,
        W_V=W_V.swapaxes(1, 2),
        b_V=b_V,
        W_O=weights[f"{outline.module}.out.weight"].T,
        b_O=np.zeros(config.d_model) if b_O is None else b_O,
        mask=mask,
        bias=walk.reference.bias,
        rotate=rotate,
    )
