"""GPT-J: decoder-only, partially rotary heads, parallel attention and feed-forward with one shared normalization."""

from transformer_core.checkpoints.families.gpt2 import GPT2_END, HEAD
from transformer_core.checkpoints.family import Entry, Family, decoder_only, embeddings, module, shared
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message


def read(options: Options) -> ModelConfig:
    """Return our configuration of a GPT-J.

    Source: Wang and Komatsuzaki 2021, and the library's class.
    """
    options.must_be("rotary", True, Message("this family requires rotary positions"))
    options.must_be("scale_attn_weights", True, Message("scores must be divided by sqrt(d_head)"))
    options.idle("embd_pdrop")
    d_model, n_heads = options.whole("n_embd"), options.whole("n_head")
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=d_model,
        d_ff=options.whole("n_inner", 4 * d_model),
        n_heads=n_heads,
        n_decoder_layers=options.whole("n_layer"),
        max_seq_len=options.whole("n_positions", 2048),
        positions="rotary_interleaved",
        rotary_fraction=options.whole("rotary_dim", 64) * max(n_heads, 1) / max(d_model, 1),
        parallel_residual=True,
        layer_norm_eps=options.number("layer_norm_epsilon", 1e-5),
        activation=options.choice("activation_function", ACTIVATIONS, "gelu_new"),
        attention_bias="none",
        tie_embeddings="target" if options.switch("tie_word_embeddings", False) else "none",
        unembed_bias=True,
        dropout=options.number("resid_pdrop", 0.0),
        dropout_pattern=options.number("attn_pdrop", 0.0),
        **options.tokens_of_decoder(bos=GPT2_END, eos=GPT2_END),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a GPT-J."""
    weight = ("weight",)
    entries = [
        *embeddings(config, "transformer.wte.weight", head=HEAD),
        *((Entry("lm_head.bias", ("unembed.bias",)),) if config.unembed_bias else ()),
        *module("transformer.ln_f", "decoder.ln_final"),
    ]
    for i in range(config.n_decoder_layers):
        theirs, ours = f"transformer.h.{i}", f"decoder.blocks.{i}"
        entries += [
            *shared(f"{theirs}.ln_1", (f"{ours}.ln1", f"{ours}.ln2")),
            *module(f"{theirs}.attn.q_proj", f"{ours}.self_attn.q", weight),
            *module(f"{theirs}.attn.k_proj", f"{ours}.self_attn.k", weight),
            *module(f"{theirs}.attn.v_proj", f"{ours}.self_attn.v", weight),
            *module(f"{theirs}.attn.out_proj", f"{ours}.self_attn.out", weight),
            *module(f"{theirs}.mlp.fc_in", f"{ours}.mlp.up"),
            *module(f"{theirs}.mlp.fc_out", f"{ours}.mlp.down"),
        ]
    return tuple(entries)


FAMILIES = (Family(model_type="gptj", read=read, keys=keys, head=HEAD, prefix="transformer."),)
