"""MPT: decoder-only, pre-norm, ALiBi, no biases."""

from transformer_core.checkpoints.entries import WEIGHT, Entry, embeddings, fused, in_layers, module, modules
from transformer_core.checkpoints.families.gpt2 import HEAD
from transformer_core.checkpoints.family import Family, decoder_only
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

_NORMS = {"low_precision_layernorm": "layer_without_bias", "layernorm": "layer_without_bias"}


def read(options: Options) -> ModelConfig:
    """Return our configuration of an MPT (MosaicML 2023, the code of llm-foundry)."""
    options.must_be("no_bias", True, Message("this family has no biases"))
    options.must_be("expansion_ratio", 4, Message("the feed-forward width must be 4 times the model's"))
    options.must_be("logit_scale", None, Message("logits are not scaled in this family"))
    options.choice("norm_type", _NORMS, "low_precision_layernorm")
    options.idle("embedding_fraction")
    attention = options.inside("attn_config")
    attention.must_be("attn_type", "multihead_attention", Message("keys and values must have as many heads as queries"))
    attention.must_be("alibi", True, Message("this family requires ALiBi"))
    attention.must_be("alibi_bias_max", 8, Message("slopes are only supported down to 2^-8"))
    attention.must_be("clip_qkv", None, Message("clipped queries, keys and values are not supported"))
    attention.must_be("softmax_scale", None, Message("scores must be divided by sqrt(d_head)"))
    for name in ("prefix_lm", "qk_ln", "attn_uses_sequence_id"):
        attention.must_be(name, False, Message("this variant of attention is not supported"))
    attention.idle("attn_impl")
    dropout_pattern = attention.number("attn_pdrop", 0.0)
    attention.finish()
    d_model = options.whole("d_model")
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=d_model,
        d_ff=4 * d_model,
        n_heads=options.whole("n_heads"),
        n_decoder_layers=options.whole("n_layers"),
        max_seq_len=options.whole("max_seq_len", 2048),
        positions="alibi",
        norm="layer_without_bias",
        layer_norm_eps=options.number("layer_norm_epsilon", 1e-5),
        activation="gelu",
        feed_forward_bias=False,
        attention_bias="none",
        tie_embeddings=options.tying(True),
        dropout=options.number("resid_pdrop", 0.0),
        dropout_pattern=dropout_pattern,
        **options.tokens_of_decoder(bos=None, eos=None),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of an MPT."""
    linear = {"attn.out_proj": "self_attn.out", "ffn.up_proj": "mlp.up", "ffn.down_proj": "mlp.down"}
    layer = (
        *modules({"norm_1": "ln1", "norm_2": "ln2", **linear}, WEIGHT),
        *fused("attn.Wqkv", "self_attn", parts=WEIGHT),
    )
    return (
        *embeddings(config, "transformer.wte.weight", head=HEAD),
        *module("transformer.norm_f", "decoder.ln_final", WEIGHT),
        *in_layers(config, "transformer.blocks.*", layer),
    )


FAMILIES = (Family(model_type="mpt", read=read, keys=keys, head=HEAD, prefix="transformer."),)
