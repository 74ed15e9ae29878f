"""Which way a walk takes through a model: what there is between the tokens' vectors and what the layer passes on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headlight.analysis.trace.attentions import Attention, attentions_of
from headlight.analysis.trace.residual_stream import Sublayer, embedding_sites, sublayers
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
    hook_point: str | None = None  # that the sum passes before


@dataclass(frozen=True, kw_only=True)
class Outline:
    """One head of one attention, with its surroundings in the block."""

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
        return f"{self.block}.{self._own.norm}"

    @property
    def cross(self) -> str:
        """Path of the cross-attention that comes next."""
        return f"{self.block}.cross_attn"

    @property
    def next_norm(self) -> str:
        """Path of the normalization that belongs to the feed-forward network."""
        return f"{self.block}.ln2"

    @property
    def _own(self) -> Sublayer:
        """The sub-layer of the block that the attention is."""
        return sublayers(self.config, self.stack)[self.is_cross]

    def sites(self) -> Mapping[str, str | None]:
        """Return the quantities of the walk in their order, each with the hook point where the model holds it."""
        config, block, module, is_pre_norm = self.config, self.block, self.module, self.is_pre_norm
        is_changed, crossed = self.is_projected_in_steps, self.is_followed_by_cross
        is_normalized, is_fed = config.qk_norm and self.is_rotated, config.d_ff > 0
        cross = sublayers(config, self.stack)[1] if crossed else self._own
        x = f"{block}.hook_resid_pre"
        if self.is_cross:
            x = f"{block}.hook_resid_mid" if is_pre_norm else f"{block}.ln1.hook_normalized"
        quantities = [  # the last column: whether it is there
            ("x", x, True),
            ("x_normalized", f"{self.norm}.hook_normalized", is_pre_norm),
            ("memory", self.memory_site, self.is_cross),
            ("q_projected", None, is_changed),
            ("k_projected", None, is_changed),
            ("q_normalized", f"{module}.q_norm.hook_normalized", is_normalized),
            ("k_normalized", f"{module}.k_norm.hook_normalized", is_normalized),
            *((name, f"{module}.hook_{name}", True) for name in ("q", "k", "v")),
            ("product", None, True),
            ("scaled", None, config.scale_scores),
            ("bias", None, self.has_bias),
            ("biased", None, self.has_bias),
            *((name, f"{module}.hook_{name}", True) for name in ("mask", "attn_scores", "pattern", "z")),
            ("concat", f"{module}.hook_z", True),
            ("attn_out", f"{module}.hook_attn_out", True),
            ("resid_mid", f"{block}.{self._own.sum}", True),
            ("normalized", f"{self.norm}.hook_normalized", not is_pre_norm),
            ("cross_x", f"{block}.ln_cross.hook_normalized", crossed and is_pre_norm),
            ("cross_concat", f"{self.cross}.hook_z", crossed),
            ("cross_out", f"{self.cross}.hook_attn_out", crossed),
            ("resid_mid_cross", f"{block}.{cross.sum}", crossed),
            ("normalized_cross", f"{block}.ln_cross.hook_normalized", crossed and not is_pre_norm),
            ("normalized", f"{self.next_norm}.hook_normalized", is_fed and is_pre_norm),
            ("mlp_pre", f"{block}.mlp.hook_pre", is_fed),
            ("mlp_linear", f"{block}.mlp.hook_pre_linear", is_fed and config.gated),
            ("mlp_post", f"{block}.mlp.hook_post", is_fed),
            ("mlp_out", f"{block}.hook_mlp_out", is_fed),
            ("resid_post", f"{block}.hook_resid_post", is_fed),
            ("out", f"{self.next_norm}.hook_normalized", is_fed and not is_pre_norm),
        ]
        return {name: site for name, site, is_there in quantities if is_there}

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
        """Return the input of the first block."""
        norm = f"{self.stack}.embedding_norm" if self.config.embedding_norm else None
        return Origin(sites=tuple(embedding_sites(self.config, self.stack).values()), norm=norm)

    def _handed_on(self, stack: str, layer: int) -> Origin:
        """Return the output of a block."""
        block, (*earlier, last) = f"{stack}.blocks.{layer}", sublayers(self.config, stack)
        if not self.is_pre_norm:
            return Origin(sites=(f"{block}.{last.sum}",), norm=f"{block}.{last.norm}")
        before = earlier[-1].sum if earlier else "hook_resid_pre"
        sites = (f"{block}.{before}", f"{block}.{last.adds}")
        return Origin(sites=sites, norm=None, hook_point=f"{block}.hook_resid_post")
