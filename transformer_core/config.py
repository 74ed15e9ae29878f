"""The configuration of a model. The paper's h is `n_heads`, its N the number of layers, and its d_k = d_v `d_head`."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self

from transformer_core.arguments import check_kind
from transformer_core.checked_fields import AboveZero, Count, Probability, between, check_fields, check_together
from transformer_core.config_rules import EVEN_HEADS, OF_OUTPUT_LAYER, ROTARY, ROTARY_SCALING, RULES
from transformer_core.errors import ConfigError, Message

Architecture = Literal["encoder_decoder", "decoder_only", "encoder_only"]
TokenizerKind = Literal["word", "character", "byte_bpe"]  # what one token is; byte_bpe: bytes that often occur together
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
RotaryScaling = Literal["none", "linear", "llama3", "yarn", "longrope"]
Norm = Literal["layer", "layer_without_bias", "rms", "none"]
NormPosition = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "squared_relu"]
AttentionBias = Literal["all", "qkv", "none"]
QKNormScope = Literal["shared", "per_head", "joint"]
Tying = Literal["three_way", "target", "none"]

MOST_LAYERS = 512  # per stack; the deepest published models have about 150
_Layers = Annotated[int, between(0, MOST_LAYERS)]
_Width = Annotated[int, between(1, 2**20)]  # so that a matrix's size in bytes fits into 64 bits
_WidthOrZero = Annotated[int, between(0, 2**20)]
_Hidden = Annotated[int, between(0, 2**40)]
_Buckets = Annotated[int, between(4, 2**20)]
_Length = Annotated[int, between(1, 2**31)]
_LengthOrZero = Annotated[int, between(0, 2**31)]

SPECIAL_TOKEN_FIELDS = ("pad_id", "bos_id", "eos_id", "more_eos_ids")  # set by the tokenizer
_ONCE_NULL = ("d_head", "n_kv_heads")  # older files store the default as null
_TUPLES = ("more_eos_ids", "layers_without_window", "layers_without_rotation", "rotary_pair_factors")  # lists in a file

_IN_WORDS: dict[Architecture, Message] = {
    "encoder_decoder": Message("an encoder-decoder model"),
    "decoder_only": Message("a decoder-only model"),
    "encoder_only": Message("an encoder-only model"),
}


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Everything that shapes a Transformer; the defaults are the paper's base model.

    Raises:
        ConfigError: an invalid field or combination of fields; the message names it and says what to do.

    Source: Vaswani et al. 2017, table 3 (base).
    """

    vocab_size: _Length  # tokens; one vocabulary for source and target (sec. 5.1)
    architecture: Architecture = "encoder_decoder"  # encoder, decoder, or both
    src_vocab_size: _LengthOrZero = 0  # tokens of the source's own vocabulary; 0: one for source and target
    d_model: _Width = 512  # width of the residual stream
    d_embed: _WidthOrZero = 0  # width of the embeddings before a projection (Lan et al. 2020, sec. 3.1); 0: d_model
    d_ff: _Hidden = 2048  # width of the feed-forward layer; 0: blocks of attention alone (Elhage et al. 2021)
    n_heads: _Width = 8  # attention heads per layer; the paper's h
    d_head: _WidthOrZero = 0  # width of one head; 0: d_model / n_heads, as in the paper
    n_kv_heads: _WidthOrZero = 0  # key-value heads for grouped-query attention (Ainslie et al. 2023); 0: n_heads
    n_encoder_layers: _Layers = 6  # the paper's N; 0: no encoder
    n_decoder_layers: _Layers = 6  # the paper's N; 0: no decoder
    max_seq_len: _Length = 512  # maximum length of source and target, in tokens

    positions: Positions = "sinusoidal_interleaved"  # sec. 3.5; "learned" is table 3, row (E)
    rotary_base: AboveZero = 10000.0  # RoPE base, theta (Su et al. 2021, sec. 3.2.2)
    rotary_base_in_window: AboveZero = 10000.0  # unscaled RoPE base in layers with a window, if others have none
    rotary_fraction: AboveZero = 1.0  # fraction of each head that is rotated, in (0, 1]
    rotary_scaling: RotaryScaling = "none"  # for contexts longer than in training; "yarn": Peng et al. 2023, sec. 3.2
    rotary_scaling_factor: AboveZero = 1.0  # RoPE scaling factor
    rotary_low_freq_factor: AboveZero = 1.0  # llama3, yarn: wavelengths above original_len / this are fully scaled
    rotary_high_freq_factor: AboveZero = 4.0  # llama3, yarn: wavelengths below original_len / this are unchanged
    rotary_original_len: Count = 8192  # llama3, yarn: context length in training, in tokens
    rotary_pair_factors: tuple[float, ...] = ()  # longrope: divisors of the frequencies (Ding et al. 2024, sec. 3.2)
    layers_without_rotation: tuple[int, ...] = ()  # layers without RoPE (Yang et al. 2025, "RNoPE"); empty: all have it
    alibi_scale: AboveZero = 1.0  # ALiBi: factor of the slopes; 1 / sqrt(d_head) in Falcon (Almazrouei et al. 2023)
    alibi_rounding: bool = False  # ALiBi: slopes times positions are rounded to bfloat16, as in Falcon's code
    n_relative_buckets: _Buckets = 32  # relative position buckets (Raffel et al. 2020, sec. 2.1)
    relative_max_distance: Count = 128  # in tokens; larger distances share the last bucket
    relative_bias: bool = False  # relative position buckets besides these positions (Song et al. 2020, code)

    norm: Norm = "layer"  # "rms": Zhang and Sennrich 2019; "none": as in Elhage et al. 2021
    norm_position: NormPosition = "post"  # LayerNorm(x + sublayer(x)), sec. 3.1; "pre": Xiong et al. 2020
    input_norm: bool = True  # pre-norm: normalize the input of each sub-layer
    output_norm: bool = False  # normalize what each sub-layer adds to the stream (OLMo et al. 2025, sec. 2.1)
    first_norm: bool = True  # pre-norm: normalize the first attention's input; embeddings may be normalized already
    last_norm: bool = True  # pre-norm: normalize the output of each stack (Radford et al. 2019, sec. 2.3)
    final_norm: bool = False  # post-norm: normalize stack outputs again (torch.nn.Transformer)
    parallel_residual: bool = False  # x + Attn(LN1(x)) + FFN(LN2(x)): both read the same x (Black et al. 2022)
    layer_norm_eps: AboveZero = 1e-5  # added to the variance; PyTorch's default, not given in the paper
    embedding_norm: bool = False  # normalize the sum of the embeddings (Devlin et al. 2019, code)
    activation: Activation = "relu"  # sec. 3.3; Hendrycks and Gimpel 2016 (GELU), Elfwing et al. 2017, So et al. 2021
    gated: bool = False  # activation(x W_gate) * (x W_up) (Shazeer 2020)
    feed_forward_bias: bool = True  # sec. 3.3, eq. (2): b_1 and b_2
    attention_bias: AttentionBias = "all"  # in q, k, v and out; common practice, not in the formula of sec. 3.2.2
    qk_norm: bool = False  # normalize each head's queries and keys (Henry et al. 2020)
    qk_norm_scope: QKNormScope = "shared"  # one gain, one "per_head", or "joint": all as one vector (OLMo et al. 2025)
    scale_scores: bool = True  # divide by sqrt(d_head), sec. 3.2.1
    score_cap: AboveZero | None = None  # cap * tanh(scores / cap) (Gemma Team 2024, sec. 2); None: no cap
    sliding_window: Count | None = None  # window size, query included (Beltagy et al. 2020); None: no window
    layers_without_window: tuple[int, ...] = ()  # layers with full attention (Brown et al. 2020, sec. 2.1); empty: none
    scale_embeddings: bool = True  # multiply by sqrt(d_model), sec. 3.4
    n_segments: _WidthOrZero = 0  # segment types, one embedding each (Devlin et al. 2019); 0: none
    tie_embeddings: Tying = "three_way"  # source, target and output matrix shared (sec. 3.4); "target": the last two
    unembed: bool = True  # the last linear layer, which computes the logits; False: final states only, no predictions
    unembed_transform: bool = False  # linear layer and normalization before the last layer (Devlin et al. 2019, code)
    unembed_bias: bool = False  # a bias per token, added to the logits
    scale_logits: bool = False  # multiply final states by d_model^-0.5 (Raffel et al. 2020, code)
    logit_cap: AboveZero | None = None  # cap * tanh(logits / cap) (Bello et al. 2016, app. A.2); None: no cap

    dropout: Probability = 0.1  # dropout rate for sub-layer outputs and embedding + positions (sec. 5.4)
    dropout_pattern: Probability = 0.0  # dropout rate for the attention pattern; common, but not in the paper's text
    pad_id: int | None = 0  # padding token, never attended to; None: no padding token
    bos_id: int | None = 1  # beginning-of-sequence token (BOS); None: no such token
    eos_id: int | None = 2  # end-of-sequence token (EOS); None: no such token, so texts end at the maximum length
    more_eos_ids: tuple[int, ...] = ()  # further tokens that end a text

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.d_head:
            check_together(self, [EVEN_HEADS])
            object.__setattr__(self, "d_head", self.d_model // self.n_heads)
        if not self.n_kv_heads:
            object.__setattr__(self, "n_kv_heads", self.n_heads)
        check_together(self, RULES)

    def at_layer(self, layer: int) -> Self:
        """Return the configuration of one layer, in models whose layers differ in windows or rotary positions."""
        changes: dict[str, Any] = {}
        if self.layers_without_window:
            changes |= self._defaults("layers_without_window", "rotary_base_in_window")
            if layer in self.layers_without_window:
                changes |= {"sliding_window": None}
            elif self.has_rotary_positions:
                changes |= self._defaults(*ROTARY_SCALING) | {"rotary_base": self.rotary_base_in_window}
        if self.layers_without_rotation:
            changes |= self._defaults("layers_without_rotation")
            if layer in self.layers_without_rotation:
                changes |= self._defaults(*ROTARY) | {"positions": "none"}
        return replace(self, **changes) if changes else self

    def _defaults(self, *names: str) -> dict[str, Any]:
        return {name: getattr(type(self), name) for name in names}

    @property
    def input_vocab_size(self) -> int:
        """Number of tokens that the input is written in: the source of an encoder-decoder, or the text."""
        return self.src_vocab_size or self.vocab_size

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """All end-of-sequence tokens."""
        return () if self.eos_id is None else (self.eos_id, *self.more_eos_ids)

    @property
    def suppressed_token_id(self) -> int | None:
        """The token that is never generated: padding, unless it is also <eos>."""
        return None if self.pad_id in self.eos_ids else self.pad_id

    @property
    def has_encoder(self) -> bool:
        """Whether there is a stack with bidirectional self-attention."""
        return self.architecture != "decoder_only"

    @property
    def has_decoder(self) -> bool:
        """Whether there is a stack with causal self-attention, which generates."""
        return self.architecture != "encoder_only"

    @property
    def kind(self) -> Message:
        """The architecture, in words."""
        return _IN_WORDS[self.architecture]

    @property
    def has_final_norm(self) -> bool:
        """Whether each stack's output is normalized."""
        return self.last_norm if self.norm_position == "pre" else self.final_norm

    def normalizes(self, layer: int, norm: str) -> bool:
        """Return whether a norm of a block, such as "ln1", changes its input."""
        return self.norm != "none" and self.input_norm and (self.first_norm or (layer, norm) != (0, "ln1"))

    @property
    def embedding_width(self) -> int:
        """The width of the embeddings, which are projected to `d_model` if `d_embed` is not 0."""
        return self.d_embed or self.d_model

    @property
    def has_relative_buckets(self) -> bool:
        """Whether scores have a trained bias for the distance between query and key."""
        return self.positions == "relative_buckets" or self.relative_bias

    @property
    def has_position_bias(self) -> bool:
        """Whether scores have a bias for the distance between query and key, trained or fixed."""
        return self.positions == "alibi" or self.has_relative_buckets

    @property
    def has_rotary_positions(self) -> bool:
        """Whether queries and keys are rotated by their positions."""
        return self.positions in ("rotary_halves", "rotary_interleaved")

    @property
    def n_rotated(self) -> int:
        """Number of dimensions per head that rotary position embeddings rotate."""
        return int(self.d_head * self.rotary_fraction)

    def changed(self, **changes: Any) -> Self:
        """Return a copy with changed values; `d_head` and `n_kv_heads` are recomputed if they have their defaults."""
        if self.d_head * self.n_heads == self.d_model:
            changes = {"d_head": 0, **changes}
        if self.n_kv_heads == self.n_heads:
            changes = {"n_kv_heads": 0, **changes}
        return replace(self, **changes)

    def without_output_layer(self) -> Self:
        """Return the configuration of the same model without predictions."""
        return replace(self, unembed=False, tie_embeddings="none", **self._defaults(*OF_OUTPUT_LAYER))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def check_names(cls, names: Iterable[str]) -> None:
        """Check that names are fields of a configuration.

        Raises:
            ConfigError: the first unknown one; the message names the nearest field.
        """
        known = [field.name for field in fields(cls)]
        for key in names:
            if key not in known:
                nearest = get_close_matches(str(key), known, n=1)
                if nearest:
                    raise ConfigError(
                        "the model configuration has no field {key!r}; did you mean {nearest}?",
                        key=key,
                        nearest=nearest[0],
                    )
                raise ConfigError(
                    "the model configuration has no field {key!r}; available are {known}",
                    key=key,
                    known=", ".join(known),
                )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a configuration from plain values.

        Raises:
            ConfigError: an unknown field (the message names the nearest one), or a value that is not allowed.
        """
        check_kind("the model configuration", values, Mapping, Message("a mapping"))
        values = _with_listed_layers(values)
        cls.check_names(values)
        if "vocab_size" not in values:
            raise ConfigError("the model configuration lacks vocab_size")
        values = {name: 0 if name in _ONCE_NULL and value is None else value for name, value in values.items()}
        values |= {name: tuple(values[name]) for name in _TUPLES if isinstance(values.get(name), list)}
        if isinstance(values.get("attention_bias"), bool):  # in older files
            values = {**values, "attention_bias": "all" if values["attention_bias"] else "none"}
        return cls(**values)


def _with_listed_layers(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a file, with a list of layers in place of the interval of older files."""
    interval = values.get("full_attention_every")
    if "full_attention_every" not in values or not (interval is None or (type(interval) is int and interval > 0)):
        return values
    others = {name: value for name, value in values.items() if name != "full_attention_every"}
    if interval is None:
        return others
    counts = [others.get(f"n_{stack}_layers", 6) for stack in ("encoder", "decoder")]
    n_layers = min(MOST_LAYERS, max(n for n in (*counts, 0) if type(n) is int))
    return {**others, "layers_without_window": tuple(range(0, n_layers, interval))}
