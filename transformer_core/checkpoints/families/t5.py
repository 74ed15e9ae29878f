"""T5, its version 1.1, such as Flan-T5, and mT5: relative position buckets, RMS norm, no biases, no scaling."""

from dataclasses import replace

from transformer_core.checkpoints.entries import WEIGHT, Entry, embeddings, in_layers, inside, module, modules
from transformer_core.checkpoints.family import Family, Ignored
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

SHARED = "shared.weight"
COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
HEAD = "lm_head.weight"
ATTENTION = {"q": "q", "k": "k", "v": "v", "o": "out"}

_ENCODERS = ("EncoderModel", "ForTokenClassification")  # endings of the library's classes that have no decoder

_FORMS = {  # of the feed-forward network: whether it is gated, and its activation
    **{name: (False, activation) for name, activation in ACTIVATIONS.items()},
    **{f"gated-{name}": (True, activation) for name, activation in ACTIVATIONS.items()},
    "gated-gelu": (True, ACTIVATIONS["gelu_new"]),  # as it was trained, despite its name
}


def read_t5(options: Options) -> ModelConfig:
    """Return our configuration of a T5.

    The weights decide whether the output layer is tied. `tie_word_embeddings` only decides whether final states are
    scaled, as in the library.

    Source: Raffel et al. 2020, sec. 2.1, Shazeer 2020 for v1.1, and the library's class.
    """
    start = options.token("decoder_start_token_id")
    scale_logits = options.switch("tie_word_embeddings", True)
    scale_logits = options.switch("scale_decoder_outputs", scale_logits)
    return read(options, form="relu", start=start, scale_logits=scale_logits)


def read_mt5(options: Options) -> ModelConfig:
    """Return our configuration of an mT5 (Xue et al. 2021, sec. 3.2): a T5 v1.1 of many languages."""
    options.idle("tie_word_embeddings")
    return read(options, form="gated-gelu", start=options.token("decoder_start_token_id", 0), scale_logits=False)


def read(options: Options, *, form: str, start: int | None, scale_logits: bool) -> ModelConfig:
    """Return the configuration of one of these models, or of its encoder alone.

    Args:
        options: the model's options.
        form: the default of `feed_forward_proj`.
        start: the decoder's first token; None: padding.
        scale_logits: as in `ModelConfig`.
    """
    options.must_be("is_decoder", False, Message("decoders are only supported together with an encoder"))
    is_gated, activation = options.choice("feed_forward_proj", _FORMS, form)
    n_layers = options.whole("num_layers")
    pad = options.token("pad_token_id", 0)
    config = ModelConfig(
        architecture="encoder_decoder",
        vocab_size=options.whole("vocab_size"),
        d_model=options.whole("d_model"),
        d_ff=options.whole("d_ff"),
        n_heads=options.whole("num_heads"),
        d_head=options.whole("d_kv"),
        n_encoder_layers=n_layers,
        n_decoder_layers=options.whole("num_decoder_layers", n_layers),
        max_seq_len=options.whole("n_positions", 512),
        positions="relative_buckets",
        n_relative_buckets=options.whole("relative_attention_num_buckets", 32),
        relative_max_distance=options.whole("relative_attention_max_distance", 128),
        norm="rms",
        norm_position="pre",
        layer_norm_eps=options.number("layer_norm_epsilon", 1e-6),
        activation=options.choice("dense_act_fn", ACTIVATIONS, activation) if "dense_act_fn" in options else activation,
        gated=options.switch("is_gated_act", is_gated),
        feed_forward_bias=False,
        attention_bias="none",
        scale_scores=False,
        scale_embeddings=False,
        tie_embeddings="three_way",
        scale_logits=scale_logits,
        dropout=options.number("dropout_rate", 0.1),
        dropout_pattern=options.number("dropout_rate", 0.1),
        pad_id=pad,
        bos_id=pad if start is None else start,
        eos_id=options.token("eos_token_id", 1),
    )
    classes = options.value("architectures")
    saved_as = str(classes[0]) if isinstance(classes, list) and classes else ""
    if options.switch("is_encoder_decoder", True) and not saved_as.endswith(_ENCODERS):
        return config
    return replace(config.without_output_layer(), architecture="encoder_only", n_decoder_layers=0)


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a T5, or of its encoder."""
    entries = [*embeddings(config, SHARED, head=HEAD, copies=COPIES)]
    up = {"wi_0": "gate", "wi_1": "up"} if config.gated else {"wi": "up"}
    first = ("SelfAttention", "self_attn", "ln1", ATTENTION)
    cross = ("EncDecAttention", "cross_attn", "ln_cross", ATTENTION)
    last = ("DenseReluDense", "mlp", "ln2", {**up, "wo": "down"})
    stacks = {"encoder": [first, last], **({"decoder": [first, cross, last]} if config.has_decoder else {})}
    for stack, sub_layers in stacks.items():
        layer: list[Entry] = []
        for n, (theirs, ours, norm, linear) in enumerate(sub_layers):
            layer += module(f"layer.{n}.layer_norm", norm, WEIGHT)
            layer += inside(f"layer.{n}.{theirs}", ours, modules(linear, WEIGHT))
        buckets = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        entries += [
            Entry(buckets, (f"{stack}.position_bias.weight",)),
            *module(f"{stack}.final_layer_norm", f"{stack}.ln_final", WEIGHT),
            *in_layers(config, f"{stack}.block.*", layer, stack=stack),
        ]
    return tuple(entries)


_UNUSED = Ignored(
    r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
    Message("unused in the original checkpoints; cross-attention has no position bias"),
)
FAMILIES = tuple(
    Family(model_type=model_type, read=reader, keys=keys, head=HEAD, ignored=(_UNUSED,))
    for model_type, reader in (("t5", read_t5), ("mt5", read_mt5))
)
