"""ModernBERT: encoder-only, pre-norm, gated, rotary positions; two of three layers have a sliding window."""

from transformer_core.checkpoints.entries import Entry, embeddings, fused, in_layers, module, modules, parts, zero_bias
from transformer_core.checkpoints.family import FULL, JUDGES, WINDOW, Family, Ignored, encoder_only, sizes, windows
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "decoder.weight"


def read(options: Options) -> ModelConfig:
    """Return our configuration of a ModernBERT (Warner et al. 2024, sec. 2.1)."""
    options.idle("position_embedding_type", "global_attn_every_n_layers", "deterministic_flash_attn")
    options.idle("layer_norm_eps", "embedding_dropout")  # an older name of norm_eps; a dropout rate of training
    activation = options.choice("hidden_activation", ACTIVATIONS, "gelu")
    if options.choice("classifier_activation", ACTIVATIONS, "gelu") != activation:
        raise options.error("hidden_activation", Message("classifier_activation, of the head, must be the same"))
    n_layers, every = options.n_layers("num_hidden_layers"), options.whole("global_attn_every_n_layers", 3)
    window = options.whole("local_attention", 128) // 2 + 1  # the query, and half the window on either side
    usual = range(0, n_layers, every) if every > 0 else ()
    fields = windows(options, n_layers, window, usual=usual)
    base = _base(options, FULL, "global_rope_theta", 160_000.0)
    base_in_window = _base(options, WINDOW, "local_rope_theta", 10_000.0)
    if fields.get("layers_without_window"):
        fields["rotary_base_in_window"] = base_in_window
    elif fields:
        base = base_in_window
    return encoder_only(
        **sizes(options, n_layers="n_encoder_layers"),
        max_seq_len=options.whole("max_position_embeddings", 8192),
        positions="rotary_halves",
        rotary_base=base,
        **fields,
        norm="layer" if options.switch("norm_bias", False) else "layer_without_bias",
        norm_position="pre",
        first_norm=False,
        layer_norm_eps=options.number("norm_eps", 1e-5),
        activation=activation,
        gated=True,
        feed_forward_bias=options.switch("mlp_bias", False),
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        tie_embeddings=options.tying(True),
        unembed_bias=options.switch("decoder_bias", True),
        dropout=options.number("mlp_dropout", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        pad_id=options.token("pad_token_id", 50283),
        bos_id=options.token("bos_token_id", 50281),
        eos_id=options.token("eos_token_id", 50282),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a ModernBERT."""
    norm, attention = parts(config.norm == "layer"), parts(config.attention_bias == "all")
    network = parts(config.feed_forward_bias)
    layer = (
        *modules({"attn_norm": "ln1", "mlp_norm": "ln2"}, norm),
        *fused("attn.Wqkv", "self_attn", parts=attention),
        *module("attn.Wo", "self_attn.out", attention),
        *fused("mlp.Wi", "mlp", ("gate", "up"), parts=network),
        *module("mlp.Wo", "mlp.down", network),
    )
    entries = [
        *embeddings(config, "model.embeddings.tok_embeddings.weight", head=HEAD),
        *modules({"model.embeddings.norm": "encoder.embedding_norm", "model.final_norm": "encoder.ln_final"}, norm),
        *(e for e in in_layers(config, "model.layers.*", layer) if not e.key.startswith("model.layers.0.attn_norm.")),
    ]
    if config.unembed:
        entries += [zero_bias("head.dense", "unembed_transform.linear")]
        entries += module("head.norm", "unembed_transform.norm", norm)
        entries += [Entry("decoder.bias", ("unembed.bias",))] if config.unembed_bias else []
    return tuple(entries)


def _base(options: Options, kind: str, older: str, default: float) -> float:
    """Return the RoPE base of one kind of layer."""
    rope = options.inside("rope_parameters").inside(kind)
    rope.must_be("rope_type", "default", Message("this family only supports unscaled RoPE"))
    return rope.number("rope_theta", options.number(older, default))


FAMILIES = (
    Family(
        model_type="modernbert",
        read=read,
        keys=keys,
        head=HEAD,
        prefix="model.",
        ignored=(Ignored(r"head\.(dense|norm)\.(weight|bias)", JUDGES.reason),),
    ),
)
