"""The route of a walk through a model, from the tokens' vectors to the layer's output, and its records.

This module needs no torch: a page can draw before torch is loaded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from jaxtyping import Float

from headlight.analysis.interventions.records import Component
from headlight.analysis.interventions.stacks import check_component
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.dropout import rates_of
from headlight.analysis.trace.residual_stream import embedding_sites, sublayers
from transformer_core.config import ModelConfig

Note = Literal["allowed", "later", "outside window", "padding", "no key", "not rotated", "intervention"]
"""Why a query may attend to a key or not; or why a number is what it is: its query may attend to no key, RoPE does not
rotate its dimension, or an intervention set it."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step from the tokens' vectors to the layer's output."""

    name: str  # short and stable, for addresses
    formula: str  # in the notation of `formula_tree`; contains no translatable words
    notice: str  # key of its note: the stage's name, or a special case such as "mask of padding"
    matrices: tuple[str, ...]  # names of the quantities that it shows, inputs first, outputs last


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkInputs:
    """What a walk starts from."""

    keys: tuple[int, ...]  # selected tokens
    x_parts: Mapping[str, Float[np.ndarray, "query d_model"]]  # summands of the attention's input, by site
    memory_parts: Mapping[str, Float[np.ndarray, "key d_model"]]  # summands of the encoder's output, if it is read


@dataclass(frozen=True)
class Description:
    """What a matrix of the walk is."""

    symbol: str  # such as "Q Kᵀ"
    columns: str  # what a column is: "key", "d_head", "head d_head", "d_model" or "d_ff"
    rows: str = "query"  # what a row is: "query" or "key"
    site: str | None = None  # its hook point; None where the model never materializes it


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkMatrix(Description):
    """A quantity of the walk, with the model's own numbers; of the chosen head where there are heads."""

    name: str
    values: Float[np.ndarray, "row column"]  # the mask as 1 = may attend and 0; scores -inf where forbidden


@dataclass(frozen=True, kw_only=True)
class SumTerm:
    """One summand of a number."""

    label: str  # the index along what is summed over, with the token where that is one
    a: float
    b: float | None  # None: there is no second factor
    value: float  # what it adds


@dataclass(frozen=True, kw_only=True)
class Formula:
    """How a number is made."""

    formula: str  # in the notation of `formula_tree`; where it has several sides, each makes the number
    factors: tuple[str, ...] = ()  # symbols of the terms' a and b in the formula's sum
    over: str = ""  # what the sum is over: a kind of place; "" where there is no sum
    terms: tuple[SumTerm, ...] = ()  # of the sum
    constants: Mapping[str, float] = field(default_factory=dict)  # all other inputs, by their notation in the formula
    note: Note | None = None

    def plus(self, symbol: str, value: float) -> Self:
        """Return the formula with one more number added."""
        return replace(self, formula=f"{self.formula} + {symbol}", constants={**self.constants, symbol: value})


@dataclass(frozen=True, kw_only=True)
class Number(Formula):
    """One number of a walk, with its formula filled in with the model's numbers."""

    name: str  # of the quantity
    symbol: str
    row: int
    column: int
    row_kind: str  # as `Description.rows`
    column_kind: str
    row_place: str  # index and token, such as "3 'it'", or "3 'it' → 1 'cat'"
    column_place: str
    value: float  # the model's
    recomputed: float  # by the same modules in float64
    mha: float | None  # from torch.nn.MultiheadAttention, or its substitute in the proof; None if there is none

    @property
    def difference(self) -> float:
        """Absolute difference of the model's number and the recomputed one; 0 if both are the same infinity."""
        return 0.0 if self.value == self.recomputed else abs(self.value - self.recomputed)


DROPPED = {"pattern_dropped": "pattern", "attn_dropped": "attn_out", "mlp_dropped": "mlp_out"}
"""The quantities that dropout makes in training, and what of; at inference nothing reads them."""

PAIRS: Mapping[str, Description] = {  # for one query and one key each; computed on demand
    "elementwise": Description("q ⊙ k", "d_head", "query key"),
    "weighted": Description("A v", "d_head", "query key"),
}


def pair_factors(
    values: Mapping[str, Float[np.ndarray, "_ _"]], name: str, query: int
) -> tuple[Float[np.ndarray, "key d_head"], Float[np.ndarray, "key d_head"]]:
    """Return the factors of a row of `PAIRS`: a query and each key, or the weight of each key and its value.

    Args:
        values: of the walk, by quantity.
        name: "elementwise" or "weighted".
        query: whose row.
    """
    if name == "elementwise":
        return np.broadcast_to(values["q"][query], values["k"].shape), values["k"]
    return np.broadcast_to(values["pattern"][query][:, None], values["v"].shape), values["v"]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The origin of the vectors that an attention reads: a sum of captured activations, normalized or projected."""

    sites: tuple[str, ...]  # added up
    norm: str | None  # path of the normalization of the sum; None: there is none
    projection: str | None = None  # path of the linear layer after that; None: there is none
    hook_point: str | None = None  # hook point that the sum passes through, if any


class Outline:
    """One head of one attention, with its surroundings in the block.

    Attributes:
        config: of the layer.
        attention, layer, head: which head it is.
        quantities: the quantities of the walk by name, in order.
        dropout_seed: of the masks of dropout as in training, whose results are quantities too; None: they are not.
    """

    def __init__(
        self, config: ModelConfig, *, attention: str, layer: int, head: int, dropout_seed: int | None = None
    ) -> None:
        """Find the way through a head.

        Raises:
            ConfigError: an attention, a layer or a head that the model does not have.
        """
        named: Any = attention
        check_component(config, Component(kind="head", attention=named, layer=layer, heads=(head,)))
        self.config = config = config.at_layer(layer)
        self.attention, self.layer, self.head = ATTENTIONS[attention], layer, head
        self.dropout_seed, self.rates = dropout_seed, rates_of(config)
        self.key_value_head = head * config.n_kv_heads // config.n_heads  # serves this head
        self.is_cross = self.attention.queries_from != self.attention.keys_from  # keys and values of the other stack
        self.is_pre_norm = config.norm_position == "pre"  # the sums of sub-layers are not normalized
        self.has_input_norms = self.is_pre_norm and config.input_norm  # sub-layers read normalized vectors
        self.read = "x_normalized" if self.has_input_norms else "x"  # what queries are projected from
        self.is_causal = attention == "decoder"  # a query may not attend to later keys
        self.is_rotated = config.has_rotary_positions and not self.is_cross
        self.is_projected_in_steps = config.qk_norm or self.is_rotated  # between the projection and the product
        self.has_bias = config.has_position_bias and not self.is_cross  # by the distance
        self.is_followed_by_cross = self.is_causal and config.has_encoder
        self.stack = self.attention.module.partition(".")[0]  # that the block belongs to
        self.block, self.module = f"{self.stack}.blocks.{layer}", self.attention.module.format(layer=layer)  # paths
        self._own = sublayers(config, self.stack)[self.is_cross]  # the sub-layer that the attention is
        self.norm, self.next_norm = f"{self.block}.{self._own.norm}", f"{self.block}.ln2"  # before or after a sub-layer
        self.is_unnormalized = not config.normalizes(layer, self._own.norm)  # it reads the residual stream itself
        self.cross = f"{self.block}.cross_attn"  # the next sub-layer in the block
        self.quantities = self._quantities()

    @property
    def self_attention(self) -> "Outline":
        """The self-attention of the same block, which comes first in it."""
        return Outline(self.config, attention=self.stack, layer=self.layer, head=self.head)

    @property
    def sites(self) -> Mapping[str, str | None]:
        """The hook point of each quantity; None where the model never materializes it."""
        return {name: quantity.site for name, quantity in self.quantities.items()}

    def _quantities(self) -> Mapping[str, Description]:
        config, block, module, is_pre_norm = self.config, self.block, self.module, self.is_pre_norm
        is_changed, crossed = self.is_projected_in_steps, self.is_followed_by_cross
        is_normalized, is_fed = config.qk_norm and self.is_rotated, config.d_ff > 0
        cross = sublayers(config, self.stack)[1] if crossed else self._own
        outputs, weights = (
            self.dropout_seed is not None and rate > 0 for rate in (self.rates.outputs, self.rates.pattern)
        )
        x, ln_cross = f"{block}.hook_resid_pre", f"{block}.ln_cross.hook_normalized"
        if self.is_cross:
            x = f"{block}.hook_resid_mid" if is_pre_norm else f"{block}.ln1.hook_normalized"
        quantities: list[tuple[str, str, str, str | None, bool]] = [  # name, symbol, columns, site; whether it is there
            ("x", "X", "d_model", x, True),
            ("x_normalized", "X′", "d_model", f"{self.norm}.hook_normalized", self.has_input_norms),
            ("memory", "M", "d_model", self.memory_site, self.is_cross),
            ("q_projected", "Q₀", "d_head", None, is_changed),
            ("k_projected", "K₀", "d_head", None, is_changed),
            ("q_normalized", "Q₁", "d_head", f"{module}.q_norm.hook_normalized", is_normalized),
            ("k_normalized", "K₁", "d_head", f"{module}.k_norm.hook_normalized", is_normalized),
            ("q", "Q", "d_head", f"{module}.hook_q", True),
            ("k", "K", "d_head", f"{module}.hook_k", True),
            ("v", "V", "d_head", f"{module}.hook_v", True),
            ("product", "Q Kᵀ", "key", None, True),
            ("scaled", "Q Kᵀ / √d_k", "key", None, config.scale_scores),
            ("bias", "B", "key", None, self.has_bias),
            ("biased", "Q Kᵀ / √d_k + B", "key", None, self.has_bias),
            ("capped", "Ŝ", "key", None, config.score_cap is not None),
            ("mask", "mask", "key", f"{module}.hook_mask", True),
            ("attn_scores", "S", "key", f"{module}.hook_attn_scores", True),
            ("pattern", "A", "key", f"{module}.hook_pattern", True),
            ("pattern_dropped", "Ȧ", "key", None, weights),
            ("z", "Z", "d_head", f"{module}.hook_z", True),
            ("concat", "Concat", "head d_head", f"{module}.hook_z", True),
            ("attn_projected", "O₀", "d_model", None, config.output_norm),
            ("attn_out", "O", "d_model", f"{module}.hook_attn_out", True),
            ("attn_dropped", "Ȯ", "d_model", None, outputs),
            ("resid_mid", "R", "d_model", f"{block}.{self._own.sum}", True),
            ("normalized", "R′", "d_model", f"{self.norm}.hook_normalized", not is_pre_norm),
            ("cross_x", "Rc", "d_model", ln_cross, crossed and self.has_input_norms),
            ("cross_concat", "Concat_c", "head d_head", f"{self.cross}.hook_z", crossed),
            ("cross_projected", "C₀", "d_model", None, crossed and config.output_norm),
            ("cross_out", "C", "d_model", f"{self.cross}.hook_attn_out", crossed),
            ("resid_mid_cross", "R + C", "d_model", f"{block}.{cross.sum}", crossed),
            ("normalized_cross", "(R + C)′", "d_model", ln_cross, crossed and not is_pre_norm),
            ("normalized", "R′", "d_model", f"{self.next_norm}.hook_normalized", is_fed and self.has_input_norms),
            ("mlp_pre", "H₀", "d_ff", f"{block}.mlp.hook_pre", is_fed),
            ("mlp_linear", "H₁", "d_ff", f"{block}.mlp.hook_pre_linear", is_fed and config.gated),
            ("mlp_post", "H", "d_ff", f"{block}.mlp.hook_post", is_fed),
            ("mlp_projected", "F₀", "d_model", None, is_fed and config.output_norm),
            ("mlp_out", "F", "d_model", f"{block}.hook_mlp_out", is_fed),
            ("mlp_dropped", "Ḟ", "d_model", None, is_fed and outputs),
            ("resid_post", "R₂", "d_model", f"{block}.hook_resid_post", is_fed),
            ("out", "Y", "d_model", f"{self.next_norm}.hook_normalized", is_fed and not is_pre_norm),
        ]
        return {
            name: Description(symbol, columns, "key" if name == "memory" or name[0] in "kv" else "query", site)
            for name, symbol, columns, site, is_there in quantities
            if is_there
        }

    def origin_of_x(self) -> Origin:
        """Return the origin of the vectors that queries are projected from."""
        if not self.is_cross:
            return self._embedding() if self.layer == 0 else self._handed_on(self.stack, self.layer - 1)
        if self.is_pre_norm:
            sites = (f"{self.block}.hook_resid_pre", f"{self.block}.self_attn.hook_attn_out")
            return Origin(sites=sites, norm=None)
        return Origin(sites=(f"{self.block}.hook_resid_mid",), norm=f"{self.block}.ln1")

    def origin_of_memory(self) -> Origin:
        """Return the origin of the encoder's output."""
        last = self.config.n_encoder_layers - 1
        handed_on = self._handed_on("encoder", last)
        if not self.config.has_final_norm:
            return handed_on
        site = f"encoder.blocks.{last}.hook_resid_post" if self.is_pre_norm else f"{handed_on.norm}.hook_normalized"
        return Origin(sites=(site,), norm="encoder.ln_final")

    @property
    def memory_site(self) -> str:
        """The hook point of the encoder's output."""
        origin = self.origin_of_memory()
        return origin.hook_point or f"{origin.norm}.hook_normalized"

    def _embedding(self) -> Origin:
        norm = f"{self.stack}.embedding_norm" if self.config.embedding_norm else None
        if self.config.d_embed:
            sites = (f"{norm}.hook_normalized",)
            return Origin(sites=sites, norm=None, projection=f"{self.stack}.embedding_projection")
        return Origin(sites=tuple(embedding_sites(self.config, self.stack).values()), norm=norm)

    def _handed_on(self, stack: str, layer: int) -> Origin:
        block, (*earlier, last) = f"{stack}.blocks.{layer}", sublayers(self.config, stack)
        if not self.is_pre_norm:
            return Origin(sites=(f"{block}.{last.sum}",), norm=f"{block}.{last.norm}")
        before = earlier[-1].sum if earlier else "hook_resid_pre"
        sites = (f"{block}.{before}", f"{block}.{last.adds}")
        return Origin(sites=sites, norm=None, hook_point=f"{block}.hook_resid_post")
