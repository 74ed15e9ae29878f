"""BLOOM: decoder-only, pre-norm, ALiBi; the embeddings are normalized, and q, k and v are in one matrix."""

from transformer_core.checkpoints.entries import NORMS, Entry, embeddings, in_layers, modules
from transformer_core.checkpoints.families.gpt2 import HEAD
from transformer_core.checkpoints.families.gpt_neox import head_by_head, sub_layers
from transformer_core.checkpoints.family import Family, decoder_only
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message


def read(options: Options) -> ModelConfig:
    """Return our configuration of a BLOOM (Le Scao et al. 2022, sec. 3.2)."""
    options.must_be(
        "apply_residual_connection_post_layernorm", False, Message("the residual is only supported before the norm")
    )
    options.idle("attention_softmax_in_fp32", "masked_softmax_fusion", "offset_alibi", "skip_bias_add")
    options.idle("skip_bias_add_qkv", "bias_dropout_fusion", "slow_but_exact")
    d_model = options.whole(options.spelled("n_embed", "hidden_size"))
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=d_model,
        d_ff=4 * d_model,
        n_heads=options.whole(options.spelled("num_attention_heads", "n_head")),
        n_decoder_layers=options.whole(options.spelled("num_hidden_layers", "n_layer")),
        max_seq_len=options.whole("seq_length", 2048),  # in training; the model itself has no limit
        positions="alibi",
        embedding_norm=True,
        layer_norm_eps=options.number("layer_norm_epsilon", 1e-5),
        activation="gelu_tanh",
        tie_embeddings=options.tying(True),
        dropout=options.number("hidden_dropout", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=1, eos=2),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a BLOOM."""
    layer = (*modules(NORMS), *sub_layers("self_attention", cut=head_by_head(config.n_heads)))
    norms = {"word_embeddings_layernorm": "decoder.embedding_norm", "ln_f": "decoder.ln_final"}
    return (
        *embeddings(config, "transformer.word_embeddings.weight", head=HEAD),
        *modules({f"transformer.{theirs}": ours for theirs, ours in norms.items()}),
        *in_layers(config, "transformer.h.*", layer),
    )


FAMILIES = (Family(model_type="bloom", read=read, keys=keys, head=HEAD, prefix="transformer."),)
