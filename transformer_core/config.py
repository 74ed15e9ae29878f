"""The configuration of a model, with the field's usual names.

Said once, for readers who have the paper open: the paper's h is `n_heads`, its N is the number of layers, and its d_k
= d_v is `d_head`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self

from transformer_core.checked_fields import AboveZero, Count, CountOrZero, Probability, at_least, check_fields
from transformer_core.errors import ConfigError, Message

Architecture = Literal["encoder_decoder", "decoder_only", "encoder_only"]
Positions = Literal[
    "sinusoidal_interleaved",
    "sinusoidal_halves",
    "learned",
    "rotary_halves",
    "rotary_interleaved",
    "alibi",
    "relative_buckets",
    "none",
]
RotaryScaling = Literal["none", "linear", "llama3"]
Norm = Literal["layer", "layer_without_bias", "rms"]
NormPosition = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
AttentionBias = Literal["all", "qkv", "none"]
Tying = Literal["three_way", "target", "none"]

_IN_WORDS: dict[Architecture, Message] = {
    "encoder_decoder": Message("an encoder-decoder model"),
    "decoder_only": Message("a decoder-only model"),
    "encoder_only": Message("an encoder-only model"),
}


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Everything that shapes a Transformer; the defaults are the paper's base model.

    Raises:
        ConfigError: a field, or a combination of fields, that makes no sense; the message says which and what to do.

    Source: Vaswani et al. 2017, table 3 (base).
    """

    vocab_size: Count  # tokens; one vocabulary for source and target (sec. 5.1)
    architecture: Architecture = "encoder_decoder"  # which stacks there are
    d_model: Count = 512  # width of the residual stream
    d_ff: CountOrZero = 2048  # width of the feed-forward layer; 0: blocks of attention alone (Elhage et al. 2021)
    n_heads: Count = 8  # attention heads a layer; the paper's h
    d_head: Count | None = None  # width of one head; None: d_model / n_heads, as in the paper
    n_kv_heads: Count | None = None  # heads of keys and values, shared by groups (Ainslie et al. 2023); None: n_heads
    n_encoder_layers: CountOrZero = 6  # the paper's N; 0 where there is no encoder
    n_decoder_layers: CountOrZero = 6  # the paper's N; 0 where there is no decoder
    max_seq_len: Count = 512  # tokens; longest source, and longest target

    positions: Positions = "sinusoidal_interleaved"  # sec. 3.5; "learned" is table 3, row (E)
    rotary_base: AboveZero = 10000.0  # of the wavelengths (Su et al. 2021, sec. 3.2.2: theta)
    rotary_base_in_window: AboveZero = 10000.0  # the same in layers with a window, where others have none
    rotary_fraction: AboveZero = 1.0  # part of each head, in (0, 1], that is rotated
    rotary_scaling: RotaryScaling = "none"  # how a context longer than that of the training is reached
    rotary_scaling_factor: AboveZero = 1.0  # times as long
    rotary_low_freq_factor: AboveZero = 1.0  # llama3: wavelengths above original_len / this are stretched whole
    rotary_high_freq_factor: AboveZero = 4.0  # llama3: wavelengths below original_len / this are left
    rotary_original_len: Count = 8192  # llama3: tokens, context of the training
    n_relative_buckets: Annotated[int, at_least(4)] = 32  # of distances (Raffel et al. 2020, sec. 2.1)
    relative_max_distance: Count = 128  # tokens; farther ones share the last bucket

    norm: Norm = "layer"  # "rms": Zhang and Sennrich 2019
    norm_position: NormPosition = "post"  # LayerNorm(x + sublayer(x)), sec. 3.1; "pre": Xiong et al. 2020
    first_norm: bool = True  # pre-norm: normalize what the first attention reads; the embeddings may be so already
    final_norm: bool = False  # post-norm: normalize each stack's output once more (torch.nn.Transformer); pre-norm does
    parallel_residual: bool = False  # x + Attn(LN1(x)) + FFN(LN2(x)): both read the same x (Black et al. 2022)
    layer_norm_eps: AboveZero = 1e-5  # added to the variance; the paper names none, this is torch's
    embedding_norm: bool = False  # normalize the sum of the embeddings (Devlin et al. 2019, code)
    activation: Activation = "relu"  # sec. 3.3; GELU: Hendrycks and Gimpel 2016; SiLU: Elfwing et al. 2017
    gated: bool = False  # activation(x W_gate) * (x W_up) (Shazeer 2020)
    feed_forward_bias: bool = True  # sec. 3.3, eq. (2): b_1 and b_2
    attention_bias: AttentionBias = "all"  # in q, k, v and out; eq. of sec. 3.2.2 has none, common practice has
    qk_norm: bool = False  # normalize each head's queries and keys (Henry et al. 2020)
    scale_scores: bool = True  # divide by sqrt(d_head), sec. 3.2.1
    sliding_window: Count | None = None  # keys a query sees, its own included (Beltagy et al. 2020); None: all
    full_attention_every: Count | None = None  # layers 0, n, 2n ... have no window (Warner et al. 2024); None: all have
    scale_embeddings: bool = True  # times sqrt(d_model), sec. 3.4
    n_segments: CountOrZero = 0  # kinds of segments with an embedding each (Devlin et al. 2019); 0: none
    tie_embeddings: Tying = "three_way"  # source, target, last matrix shared (sec. 3.4); "target": the last two
    unembed: bool = True  # the last linear layer, which makes logits; False: final states only, and no predictions
    unembed_transform: bool = False  # a layer and a normalization before the last one (Devlin et al. 2019, code)
    unembed_bias: bool = False  # one number a token, added to the logits
    scale_logits: bool = False  # final states times d_model^-0.5 (Raffel et al. 2020, code)

    dropout: Probability = 0.1  # probability, on each sub-layer's output and on embedding + positions (sec. 5.4)
    dropout_pattern: Probability = 0.0  # on the attention pattern; not in the paper's text, common elsewhere
    pad_id: int | None = 0  # token that fills up shorter sequences and is never attended to; None: there is none
    bos_id: int = 1  # token that the decoder starts with
    eos_id: int = 2  # token that ends a sequence

    def __post_init__(self) -> None:
        """Check every field, and the fields against each other."""
        check_fields(self)
        self._check_tokens()
        self._check_stacks()
        self._check_heads()
        self._check_positions()
        self._check_feed_forward()

    def at_layer(self, layer: int) -> Self:
        """Return the configuration as it holds in one layer, where layers with a window and without alternate."""
        if self.full_attention_every is None:
            return self
        has_window = layer % self.full_attention_every > 0
        return replace(
            self,
            full_attention_every=None,
            sliding_window=self.sliding_window if has_window else None,
            rotary_base=self.rotary_base_in_window if has_window and self.has_rotary_positions else self.rotary_base,
            rotary_base_in_window=type(self).rotary_base_in_window,
        )

    @property
    def head_width(self) -> int:
        """Width of one head; the paper's d_k = d_v = d_model / h unless `d_head` says otherwise."""
        return self.d_model // self.n_heads if self.d_head is None else self.d_head

    @property
    def n_key_value_heads(self) -> int:
        """Heads of keys and values; each serves n_heads / n_key_value_heads heads of queries."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    @property
    def never_written(self) -> int | None:
        """The token that is nothing to write: padding, unless the same token ends texts."""
        return None if self.pad_id == self.eos_id else self.pad_id

    @property
    def has_encoder(self) -> bool:
        """Whether there is a stack that sees its whole text."""
        return self.architecture != "decoder_only"

    @property
    def has_decoder(self) -> bool:
        """Whether there is a stack that writes, and sees what came before only."""
        return self.architecture != "encoder_only"

    @property
    def has_final_norm(self) -> bool:
        """Whether each stack's output is normalized once more: in pre-norm always."""
        return self.norm_position == "pre" or self.final_norm

    @property
    def has_rotary_positions(self) -> bool:
        """Whether queries and keys are rotated by their positions."""
        return self.positions in ("rotary_halves", "rotary_interleaved")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a configuration from plain values.

        Raises:
            ConfigError: a key that no field has (the nearest field is named), or a value that is not allowed.
        """
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                nearest = get_close_matches(key, known, n=1)
                if nearest:
                    raise ConfigError(
                        "the model configuration has no field {key!r}; did you mean {nearest}?",
                        key=key,
                        nearest=nearest[0],
                    )
                raise ConfigError(
                    "the model configuration has no field {key!r}; known are {known}", key=key, known=", ".join(known)
                )
        if "vocab_size" not in values:
            raise ConfigError("the model configuration lacks vocab_size, the number of tokens")
        if isinstance(values.get("attention_bias"), bool):  # as it was written when there were two choices only
            values = {**values, "attention_bias": "all" if values["attention_bias"] else "none"}
        return cls(**values)

    def _check_tokens(self) -> None:
        """Special tokens are in the vocabulary."""
        for name in ("pad_id", "bos_id", "eos_id"):
            value = getattr(self, name)
            if name == "pad_id" and value is None:
                continue
            if type(value) is not int or not 0 <= value < self.vocab_size:
                raise ConfigError(
                    "{name} ({value!r}) must be a token of the vocabulary, 0 to {last}",
                    name=name,
                    value=value,
                    last=self.vocab_size - 1,
                )

    def _check_stacks(self) -> None:
        """Each stack of the architecture has layers, the other none; each part has the stack that it belongs to."""
        model = _IN_WORDS[self.architecture]
        for stack, is_there in ((Message("encoder"), self.has_encoder), (Message("decoder"), self.has_decoder)):
            name = f"n_{stack}_layers"
            n_layers = getattr(self, name)
            if is_there and not n_layers:
                raise ConfigError("{name} must be at least 1 in {model}, got 0", name=name, model=model)
            if not is_there and n_layers:
                raise ConfigError(
                    "{model} has no {stack}: {name} must be 0, got {n_layers}",
                    model=model,
                    stack=stack,
                    name=name,
                    n_layers=n_layers,
                )
        if self.architecture != "encoder_decoder" and self.tie_embeddings == "three_way":
            raise ConfigError(
                "{model} has one embedding, so nothing to tie three ways; use tie_embeddings target (the "
                "embedding is also the last layer's matrix) or none",
                model=model,
            )
        if self.architecture != "encoder_only" and self.n_segments:
            raise ConfigError("segments belong to encoder-only models; n_segments must be 0 in {model}", model=model)
        if self.architecture != "encoder_only" and self.unembed_transform:
            raise ConfigError(
                "unembed_transform belongs to encoder-only models; it must be false in {model}", model=model
            )
        if not self.unembed:
            if self.has_decoder:
                raise ConfigError("{model} writes by its last layer; unembed must be true in it", model=model)
            for name in ("tie_embeddings", "unembed_transform", "unembed_bias", "scale_logits"):
                if getattr(self, name) not in (False, "none"):
                    raise ConfigError(
                        "{name} = {value!r} has no meaning without {where}",
                        name=name,
                        value=getattr(self, name),
                        where="unembed",
                    )

    def _check_heads(self) -> None:
        """Heads share the width of the model evenly, and groups of them the keys and values."""
        if self.d_head is None and self.d_model % self.n_heads:
            fitting = _nearest_divisor(self.d_model, self.n_heads)
            raise ConfigError(
                "d_model ({d_model}) must be divisible by n_heads ({n_heads}); use {fitting} heads, or set d_head",
                d_model=self.d_model,
                n_heads=self.n_heads,
                fitting=fitting,
            )
        if self.n_heads % self.n_key_value_heads:
            fitting = _nearest_divisor(self.n_heads, self.n_key_value_heads)
            raise ConfigError(
                "n_heads ({n_heads}) must be divisible by n_kv_heads ({n_kv_heads}), so that each head of keys "
                "and values serves as many queries; use {fitting}",
                n_heads=self.n_heads,
                n_kv_heads=self.n_kv_heads,
                fitting=fitting,
            )

    def _check_positions(self) -> None:
        """The encoding of positions fits the widths, and what shapes one is set only where it is used."""
        if self.positions.startswith("sinusoidal") and self.d_model % 2:
            raise ConfigError(
                "sinusoidal positions come in pairs of sine and cosine: d_model ({d_model}) must be even",
                d_model=self.d_model,
            )
        if not self.has_rotary_positions:
            self._refuse_idle("rotary_", Message("positions rotary_halves or rotary_interleaved"))
        else:
            self._check_rotary()
        if self.sliding_window is None:
            self._refuse_idle("full_attention_every", "sliding_window")
        if self.full_attention_every is None:
            self._refuse_idle("rotary_base_in_window", "full_attention_every")
        if self.positions != "relative_buckets":
            self._refuse_idle("n_relative_buckets", "positions relative_buckets")
            self._refuse_idle("relative_max_distance", "positions relative_buckets")
        elif self.relative_max_distance <= self.n_relative_buckets // 2:
            raise ConfigError(
                "relative_max_distance ({distance}) must be above half of n_relative_buckets ({n_buckets}): the "
                "nearest distances have a bucket each",
                distance=self.relative_max_distance,
                n_buckets=self.n_relative_buckets,
            )

    def _check_rotary(self) -> None:
        """The rotated part of a head is made of pairs, and the numbers of the scaling are in order."""
        if self.rotary_fraction > 1:
            raise ConfigError(
                "rotary_fraction is a part of each head and must lie in (0, 1], got {rotary_fraction}",
                rotary_fraction=self.rotary_fraction,
            )
        n_rotated = int(self.head_width * self.rotary_fraction)
        if n_rotated < 2 or n_rotated % 2:
            raise ConfigError(
                "rotation turns pairs of numbers: the rotated part of a head, {n_rotated} of {width}, must be "
                "even and at least 2; change d_head or rotary_fraction",
                n_rotated=n_rotated,
                width=self.head_width,
            )
        if self.rotary_scaling == "none":
            self._refuse_idle("rotary_scaling_factor", Message("rotary_scaling linear or llama3"))
        if self.rotary_scaling != "llama3":
            for name in ("rotary_low_freq_factor", "rotary_high_freq_factor", "rotary_original_len"):
                self._refuse_idle(name, "rotary_scaling llama3")
        elif not self.rotary_high_freq_factor > self.rotary_low_freq_factor:
            raise ConfigError(
                "rotary_high_freq_factor ({high}) must be above rotary_low_freq_factor ({low})",
                high=self.rotary_high_freq_factor,
                low=self.rotary_low_freq_factor,
            )

    def _check_feed_forward(self) -> None:
        """Nothing is asked of a feed-forward network that is not there, and norms are where they can be."""
        if self.norm_position == "pre":
            self._refuse_idle("final_norm", "norm_position post")
        else:
            self._refuse_idle("first_norm", "norm_position pre")
            self._refuse_idle("parallel_residual", "norm_position pre")
        if self.parallel_residual and (self.d_ff == 0 or self.architecture == "encoder_decoder"):
            raise ConfigError(
                "parallel_residual is for blocks of self-attention and a feed-forward network; set d_ff above 0 "
                "and one stack, or parallel_residual to false"
            )
        if self.d_ff == 0:
            where = Message("a feed-forward network, so d_ff above 0")
            self._refuse_idle("gated", where)
            self._refuse_idle("feed_forward_bias", where)
            if not self.unembed_transform:  # which has an activation too
                self._refuse_idle("activation", where)

    def _refuse_idle(self, prefix: str, where: str | Message) -> None:
        """Check that fields which would change nothing were left as they are."""
        for field in fields(self):
            if field.name.startswith(prefix) and getattr(self, field.name) != field.default:
                raise ConfigError(
                    "{name} = {value!r} has no meaning without {where}",
                    name=field.name,
                    value=getattr(self, field.name),
                    where=where,
                )


def _nearest_divisor(number: int, wanted: int) -> int:
    """Return the divisor of `number` that is nearest to `wanted`."""
    return min((d for d in range(1, number + 1) if number % d == 0), key=lambda d: abs(d - wanted))
