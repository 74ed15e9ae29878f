"""GPT-2: decoder-only, pre-norm, learned positions; q, k and v in one matrix, and matrices stored as [in, out]."""

from transformer_core.checkpoints.family import Entry, Family, decoder_only, embeddings, module, scaled
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "lm_head.weight"
GPT2_END = 50256  # <|endoftext|>


def read(options: Options) -> ModelConfig:
    """Return our configuration of a GPT-2.

    Source: Radford et al. 2019, sec. 2.3, and the library's class.
    """
    options.switch("scale_attn_by_inverse_layer_idx", False)  # in the weights
    options.must_be("add_cross_attention", False, Message("cross-attention is only supported together with an encoder"))
    options.idle("reorder_and_upcast_attn", "summary_activation")
    vocab_size, d_model = options.whole("vocab_size"), options.whole("n_embd")
    return decoder_only(
        vocab_size=vocab_size,
        d_model=d_model,
        d_ff=options.whole("n_inner", 4 * d_model),
        n_heads=options.whole("n_head"),
        n_decoder_layers=options.whole("n_layer"),
        max_seq_len=options.whole("n_positions", 1024),
        positions="learned",
        layer_norm_eps=options.number("layer_norm_epsilon", 1e-5),
        activation=options.choice("activation_function", ACTIVATIONS, "gelu_new"),
        scale_scores=options.switch("scale_attn_weights", True),
        tie_embeddings="target" if options.switch("tie_word_embeddings", True) else "none",
        dropout=options.number("resid_pdrop", 0.1),
        dropout_pattern=options.number("attn_pdrop", 0.1),
        **options.tokens_of_decoder(bos=GPT2_END, eos=GPT2_END),
    )


def beyond_config(options: Options) -> dict[str, bool]:
    """Return whether the scores of layer i are divided by i + 1, as in Mistral's GPT-2 (Karamcheti et al. 2021)."""
    return {"divides_by_layer": options.switch("scale_attn_by_inverse_layer_idx", False)}


def keys(config: ModelConfig, *, divides_by_layer: bool = False) -> tuple[Entry, ...]:
    """Return the entries of a GPT-2."""
    entries = [
        *embeddings(config, "transformer.wte.weight", head=HEAD),
        Entry("transformer.wpe.weight", ("decoder.pos_embed.table",)),
        *module("transformer.ln_f", "decoder.ln_final"),
    ]
    for i in range(config.n_decoder_layers):
        theirs, ours = f"transformer.h.{i}", f"decoder.blocks.{i}"
        entries += [
            *module(f"{theirs}.ln_1", f"{ours}.ln1"),
            *conv1d(f"{theirs}.attn.c_attn", *(f"{ours}.self_attn.{part}" for part in ("q", "k", "v"))),
            *conv1d(f"{theirs}.attn.c_proj", f"{ours}.self_attn.out"),
            *module(f"{theirs}.ln_2", f"{ours}.ln2"),
            *conv1d(f"{theirs}.mlp.c_fc", f"{ours}.mlp.up"),
            *conv1d(f"{theirs}.mlp.c_proj", f"{ours}.mlp.down"),
        ]
    if not divides_by_layer:
        return tuple(entries)
    queries = [(i, f"decoder.blocks.{i}.self_attn.q") for i in range(config.n_decoder_layers)]
    return scaled(entries, {f"{q}.{part}": 1 / (i + 1) for i, q in queries for part in ("weight", "bias")})


def conv1d(theirs: str, *ours: str) -> tuple[Entry, Entry]:
    """Return the entries of the library's Conv1D: one or several linear layers, stored as [in, out]."""
    weights, biases = (tuple(f"{name}.{part}" for name in ours) for part in ("weight", "bias"))
    return (
        Entry(f"{theirs}.weight", weights, lambda weight: weight.transpose(0, 1).chunk(len(ours))),
        Entry(f"{theirs}.bias", biases, lambda bias: bias.chunk(len(ours))),
    )


FAMILIES = (
    Family(model_type="gpt2", read=read, keys=keys, head=HEAD, prefix="transformer.", beyond_config=beyond_config),
)
