"""GPTBigCode (SantaCoder, StarCoder): a GPT-2 whose heads share one key head and one value head."""

from torch import Tensor

from transformer_core.checkpoints.families.gpt2 import GPT2_END, HEAD
from transformer_core.checkpoints.families.gpt_neox import head_by_head
from transformer_core.checkpoints.family import Cut, Entry, Family, decoder_only, embeddings, fused, module
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message


def read(options: Options) -> ModelConfig:
    """Return our configuration of a GPTBigCode.

    Source: Li et al. 2023, sec. 5.2, and the library's class; Shazeer 2019 for multi-query attention.
    """
    options.must_be("add_cross_attention", False, Message("cross-attention is only supported together with an encoder"))
    options.idle("attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "num_key_value_heads", "embd_pdrop")
    options.idle("summary_activation")
    d_model = options.whole("n_embd")
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=d_model,
        d_ff=options.whole("n_inner", 4 * d_model),
        n_heads=options.whole("n_head"),
        n_kv_heads=1 if options.switch("multi_query", True) else 0,
        n_decoder_layers=options.whole("n_layer"),
        max_seq_len=options.whole("n_positions", 1024),
        positions="learned",
        layer_norm_eps=options.number("layer_norm_epsilon", 1e-5),
        activation=options.choice("activation_function", ACTIVATIONS, "gelu_pytorch_tanh"),
        scale_scores=options.switch("scale_attn_weights", True),
        tie_embeddings="target" if options.switch("tie_word_embeddings", True) else "none",
        dropout=options.number("resid_pdrop", 0.1),
        dropout_pattern=options.number("attn_pdrop", 0.1),
        **options.tokens_of_decoder(bos=GPT2_END, eos=GPT2_END),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a GPTBigCode."""
    entries = [
        *embeddings(config, "transformer.wte.weight", head=HEAD),
        Entry("transformer.wpe.weight", ("decoder.pos_embed.table",)),
        *module("transformer.ln_f", "decoder.ln_final"),
    ]
    cut = head_by_head(config.n_heads) if config.n_kv_heads == config.n_heads else one_after_another(config)
    for i in range(config.n_decoder_layers):
        theirs, ours = f"transformer.h.{i}", f"decoder.blocks.{i}"
        entries += [
            *module(f"{theirs}.ln_1", f"{ours}.ln1"),
            *fused(f"{theirs}.attn.c_attn", f"{ours}.self_attn", cut=cut),
            *module(f"{theirs}.attn.c_proj", f"{ours}.self_attn.out"),
            *module(f"{theirs}.ln_2", f"{ours}.ln2"),
            *module(f"{theirs}.mlp.c_fc", f"{ours}.mlp.up"),
            *module(f"{theirs}.mlp.c_proj", f"{ours}.mlp.down"),
        ]
    return tuple(entries)


def one_after_another(config: ModelConfig) -> Cut:
    """Return a function that splits rows of all query heads, then all key heads, then all value heads."""
    width, kv_width = config.n_heads * config.d_head, config.n_kv_heads * config.d_head

    def cut(weight: Tensor) -> tuple[Tensor, ...]:
        return weight.split((width, kv_width, kv_width))

    return cut


FAMILIES = (Family(model_type="gpt_bigcode", read=read, keys=keys, head=HEAD, prefix="transformer."),)
