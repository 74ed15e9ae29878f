"""Which way a walk takes through a model: what there is between the tokens' vectors and what the layer hands on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from transformer_core.analysis.trace.attentions import Attention, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.errors import SiteError, mark

NO_ATTENTION = mark("this model has no attention {name}; it has {there}")
NO_LAYER = mark("there is no layer {given}; this attention has layers 0 to {last}")
NO_HEAD = mark("there is no head {given}; each layer has heads 0 to {last}")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """How the vectors that an attention reads came about, one step back: a sum of what was captured, then a norm."""

    sites: tuple[str, ...]  # added up
    norm: str | None  # path of the normalization of the sum; None: there is none


@dataclass(frozen=True, kw_only=True)
class Outline:
    """One head of one attention, with what stands around it in its block."""

    config: ModelConfig
    attention: Attention
    layer: int
    head: int

    @classmethod
    def of(cls, config: ModelConfig, *, attention: str, layer: int, head: int) -> "Outline":
        """Return the outline of a head that the model has.

        Raises:
            SiteError: an attention, a layer or a head that it has not.
        """
        there = attentions_of(config)
        if attention not in there:
            raise SiteError(NO_ATTENTION, name=repr(attention), there=", ".join(there))
        n_layers = there[attention].n_layers(config)
        if not 0 <= layer < n_layers:
            raise SiteError(NO_LAYER, given=layer, last=n_layers - 1)
        if not 0 <= head < config.n_heads:
            raise SiteError(NO_HEAD, given=head, last=config.n_heads - 1)
        return cls(config=config.at_layer(layer), attention=there[attention], layer=layer, head=head)

    @property
    def self_attention(self) -> "Outline":
        """The self-attention of the same block, which comes first in it."""
        return replace(self, attention=attentions_of(self.config)[self.stack])

    @property
    def key_value_head(self) -> int:
        """Which head of keys and values serves this one."""
        return self.head * self.config.n_kv_heads // self.config.n_heads

    @property
    def is_cross(self) -> bool:
        """Whether keys and values come from the other stack."""
        return self.attention.queries_from != self.attention.keys_from

    @property
    def is_pre_norm(self) -> bool:
        """Whether sub-layers read normalized vectors; else each sum is normalized."""
        return self.config.norm_position == "pre"

    @property
    def is_unnormalized(self) -> bool:
        """Whether the attention reads the embeddings as they are where other blocks normalize."""
        return not (self.config.first_norm or self.layer or self.is_cross)

    @property
    def is_parallel(self) -> bool:
        """Whether the feed-forward network reads what the attention reads, and not what it left."""
        return self.config.parallel_residual

    @property
    def is_causal(self) -> bool:
        """Whether a query is kept from what comes after it."""
        return self.attention.name == "decoder"

    @property
    def is_rotated(self) -> bool:
        """Whether queries and keys are turned by their positions."""
        return self.config.has_rotary_positions and not self.is_cross

    @property
    def is_projected_in_steps(self) -> bool:
        """Whether something happens to queries and keys between the projection and the product."""
        return self.config.qk_norm or self.is_rotated

    @property
    def has_bias(self) -> bool:
        """Whether the distance of query and key adds to the scores."""
        return self.config.positions in ("alibi", "relative_buckets") and not self.is_cross

    @property
    def is_followed_by_cross(self) -> bool:
        """Whether cross-attention comes next in the block."""
        return self.is_causal and self.config.has_encoder

    @property
    def has_feed_forward(self) -> bool:
        """Whether the block ends with a feed-forward network."""
        return self.config.d_ff > 0

    @property
    def stack(self) -> str:
        """Name of the stack that the block belongs to."""
        return self.attention.module.partition(".")[0]

    @property
    def block(self) -> str:
        """Path of the block."""
        return f"{self.stack}.blocks.{self.layer}"

    @property
    def module(self) -> str:
        """Path of the attention."""
        return self.attention.module.format(layer=self.layer)

    @property
    def norm(self) -> str:
        """Path of the normalization that belongs to the attention."""
        return f"{self.block}.{'ln_cross' if self.is_cross else 'ln1'}"

    @property
    def cross(self) -> str:
        """Path of the cross-attention that comes next."""
        return f"{self.block}.cross_attn"

    @property
    def next_norm(self) -> str:
        """Path of the normalization that belongs to the feed-forward network."""
        return f"{self.block}.ln2"

    def sites(self) -> Mapping[str, str | None]:
        """Return the quantities of the walk in their order, each with the hook point where the model holds it."""
        return (
            self._inputs()
            | self._projections()
            | self._scores()
            | self._outputs()
            | self._cross()
            | self._feed_forward()
        )

    def origin_of_x(self) -> Origin:
        """Return how the vectors of the queries came about."""
        if not self.is_cross:
            return self._embedding() if self.layer == 0 else self._handed_on(self.stack, self.layer - 1)
        if self.is_pre_norm:
            sites = (f"{self.block}.hook_resid_pre", f"{self.block}.self_attn.hook_attn_out")
            return Origin(sites=sites, norm=None)
        return Origin(sites=(f"{self.block}.hook_resid_mid",), norm=f"{self.block}.ln1")

    def origin_of_memory(self) -> Origin:
        """Return how the encoder's output came about."""
        last = self.config.n_encoder_layers - 1
        handed_on = self._handed_on("encoder", last)
        if self.is_pre_norm:
            return Origin(sites=(f"encoder.blocks.{last}.hook_resid_post",), norm="encoder.ln_final")
        if self.config.has_final_norm:
            return Origin(sites=(f"{handed_on.norm}.hook_normalized",), norm="encoder.ln_final")
        return handed_on

    @property
    def memory_site(self) -> str:
        """The hook point of the encoder's output."""
        return f"{self.origin_of_memory().norm}.hook_normalized"

    def _embedding(self) -> Origin:
        """Return what the first block reads."""
        config, sites = self.config, [f"{self.stack}.hook_embed"]
        if config.positions.startswith(("sinusoidal", "learned")):
            sites.append(f"{self.stack}.hook_pos_embed")
        if config.n_segments:
            sites.append(f"{self.stack}.hook_segment_embed")
        return Origin(sites=tuple(sites), norm=f"{self.stack}.embedding_norm" if config.embedding_norm else None)

    def _handed_on(self, stack: str, layer: int) -> Origin:
        """Return what a block hands on."""
        block, has_cross = f"{stack}.blocks.{layer}", stack == "decoder" and self.config.has_encoder
        if not self.is_pre_norm:
            norm = "ln2" if self.has_feed_forward else "ln_cross" if has_cross else "ln1"
            return Origin(sites=(f"{block}.hook_resid_post",), norm=f"{block}.{norm}")
        if self.has_feed_forward:
            before, added = "hook_resid_mid_cross" if has_cross else "hook_resid_mid", "hook_mlp_out"
        elif has_cross:
            before, added = "hook_resid_mid", "cross_attn.hook_attn_out"
        else:
            before, added = "hook_resid_pre", "self_attn.hook_attn_out"
        return Origin(sites=(f"{block}.{before}", f"{block}.{added}"), norm=None)

    def _inputs(self) -> dict[str, str | None]:
        if not self.is_cross:
            held: dict[str, str | None] = {"x": f"{self.block}.hook_resid_pre"}
        else:
            held = {"x": f"{self.block}.hook_resid_mid" if self.is_pre_norm else f"{self.block}.ln1.hook_normalized"}
        if self.is_pre_norm:
            held["x_normalized"] = f"{self.norm}.hook_normalized"
        if self.is_cross:
            held["memory"] = self.memory_site
        return held

    def _projections(self) -> dict[str, str | None]:
        held: dict[str, str | None] = {}
        if self.is_projected_in_steps:
            held |= {"q_projected": None, "k_projected": None}
        if self.config.qk_norm and self.is_rotated:
            held |= {f"{name}_normalized": f"{self.module}.{name}_norm.hook_normalized" for name in ("q", "k")}
        return held | {name: f"{self.module}.hook_{name}" for name in ("q", "k", "v")}

    def _scores(self) -> dict[str, str | None]:
        held: dict[str, str | None] = {"product": None}
        if self.config.scale_scores:
            held["scaled"] = None
        if self.has_bias:
            held |= {"bias": None, "biased": None}
        return held | {name: f"{self.module}.hook_{name}" for name in ("mask", "attn_scores", "pattern")}

    def _outputs(self) -> dict[str, str | None]:
        held: dict[str, str | None] = {
            "z": f"{self.module}.hook_z",
            "concat": f"{self.module}.hook_z",
            "attn_out": f"{self.module}.hook_attn_out",
        }
        is_last = not (self.has_feed_forward or self.is_followed_by_cross)
        middle = "resid_mid_cross" if self.is_cross else "resid_mid"
        held["resid_mid"] = f"{self.block}.hook_{'resid_post' if is_last else middle}"
        if not self.is_pre_norm:
            held["normalized"] = f"{self.norm}.hook_normalized"
        return held

    def _cross(self) -> dict[str, str | None]:
        if not self.is_followed_by_cross:
            return {}
        name = "cross_x" if self.is_pre_norm else "normalized_cross"
        norm: dict[str, str | None] = {name: f"{self.block}.ln_cross.hook_normalized"}
        held: dict[str, str | None] = {
            "cross_concat": f"{self.cross}.hook_z",
            "cross_out": f"{self.cross}.hook_attn_out",
            "resid_mid_cross": f"{self.block}.hook_{'resid_mid_cross' if self.has_feed_forward else 'resid_post'}",
        }
        return norm | held if self.is_pre_norm else held | norm

    def _feed_forward(self) -> dict[str, str | None]:
        if not self.has_feed_forward:
            return {}
        held: dict[str, str | None] = {}
        if self.is_pre_norm:
            held["normalized"] = f"{self.next_norm}.hook_normalized"
        held["mlp_pre"] = f"{self.block}.mlp.hook_pre"
        if self.config.gated:
            held["mlp_linear"] = f"{self.block}.mlp.hook_pre_linear"
        held |= {
            "mlp_post": f"{self.block}.mlp.hook_post",
            "mlp_out": f"{self.block}.hook_mlp_out",
            "resid_post": f"{self.block}.hook_resid_post",
        }
        if not self.is_pre_norm:
            held["out"] = f"{self.next_norm}.hook_normalized"
        return held
