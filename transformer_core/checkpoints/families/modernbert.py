"""ModernBERT: encoder-only, pre-norm, gated, rotary positions; two of three layers have a sliding window."""

from transformer_core.checkpoints.family import (
    FULL,
    JUDGES,
    WINDOW,
    Entry,
    Family,
    Ignored,
    embeddings,
    encoder_only,
    fused,
    module,
    windows,
    zero_bias,
)
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "decoder.weight"


def read(options: Options) -> ModelConfig:
    """Return our configuration of a ModernBERT.

    Source: Warner et al. 2024, sec. 2.1, and the library's class.
    """
    options.idle("initializer_cutoff_factor", "position_embedding_type", "global_attn_every_n_layers")
    options.idle("classifier_pooling", "classifier_dropout", "deterministic_flash_attn", "sparse_pred_ignore_index")
    options.idle("layer_norm_eps", "embedding_dropout")  # an older name of norm_eps; a dropout rate of training
    activation = options.choice("hidden_activation", ACTIVATIONS, "gelu")
    if options.choice("classifier_activation", ACTIVATIONS, "gelu") != activation:
        raise options.error("hidden_activation", Message("classifier_activation, of the head, must be the same"))
    n_layers, every = options.n_layers("num_hidden_layers"), options.whole("global_attn_every_n_layers", 3)
    window = options.whole("local_attention", 128) // 2 + 1  # the query, and half the window on either side
    usual = range(0, n_layers, every) if every > 0 else ()
    fields = windows(options, n_layers, window, usual=usual)
    base, base_in_window = (
        _base(options, FULL, "global_rope_theta", 160_000.0),
        _base(options, WINDOW, "local_rope_theta", 10_000.0),
    )
    if fields.get("layers_without_window"):
        fields["rotary_base_in_window"] = base_in_window
    elif fields:
        base = base_in_window
    has_bias = options.switch("mlp_bias", False)
    return encoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=options.whole("hidden_size"),
        d_ff=options.whole("intermediate_size"),
        n_heads=options.whole("num_attention_heads"),
        n_encoder_layers=n_layers,
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
        feed_forward_bias=has_bias,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        tie_embeddings="target" if options.switch("tie_word_embeddings", True) else "none",
        unembed_bias=options.switch("decoder_bias", True),
        dropout=options.number("mlp_dropout", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        pad_id=options.token("pad_token_id", 50283),
        bos_id=options.token("bos_token_id", 50281),
        eos_id=options.token("eos_token_id", 50282),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a ModernBERT."""
    norm = ("weight", "bias") if config.norm == "layer" else ("weight",)
    attention = ("weight", "bias") if config.attention_bias == "all" else ("weight",)
    network = ("weight", "bias") if config.feed_forward_bias else ("weight",)
    entries = [
        *embeddings(config, "model.embeddings.tok_embeddings.weight", head=HEAD),
        *module("model.embeddings.norm", "encoder.embedding_norm", norm),
        *module("model.final_norm", "encoder.ln_final", norm),
    ]
    for i in range(config.n_encoder_layers):
        theirs, ours = f"model.layers.{i}", f"encoder.blocks.{i}"
        if i:
            entries += module(f"{theirs}.attn_norm", f"{ours}.ln1", norm)
        entries += [
            *fused(f"{theirs}.attn.Wqkv", f"{ours}.self_attn", parts=attention),
            *module(f"{theirs}.attn.Wo", f"{ours}.self_attn.out", attention),
            *module(f"{theirs}.mlp_norm", f"{ours}.ln2", norm),
            *fused(f"{theirs}.mlp.Wi", f"{ours}.mlp", ("gate", "up"), parts=network),
            *module(f"{theirs}.mlp.Wo", f"{ours}.mlp.down", network),
        ]
    if config.unembed:
        entries += [
            zero_bias("head.dense", "unembed_transform.linear"),
            *module("head.norm", "unembed_transform.norm", norm),
        ]
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
