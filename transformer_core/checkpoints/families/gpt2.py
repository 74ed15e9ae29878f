"""GPT-2: decoder-only, pre-norm, learned positions; q, k and v in one matrix, and matrices stored as [in, out]."""

from typing import Any

from transformer_core.checkpoints.entries import BOTH, Entry, embeddings, in_layers, module, modules, scaled
from transformer_core.checkpoints.family import Family, decoder_only
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "lm_head.weight"
GPT2_END = 50256  # <|endoftext|>


def read(options: Options) -> ModelConfig:
    """Return our configuration of a GPT-2 (Radford et al. 2019, sec. 2.3)."""
    options.switch("scale_attn_by_inverse_layer_idx", False)  # in the weights
    options.must_be("add_cross_attention", False, Message("cross-attention is only supported together with an encoder"))
    options.idle("reorder_and_upcast_attn", "summary_activation")
    return read_kin(options)


def read_kin(
    options: Options,
    *,
    activation: str = "gelu_new",
    n_positions: int = 1024,
    is_tied: bool = True,
    dropout: float = 0.1,
    **fields: Any,
) -> ModelConfig:
    """Return the configuration of a GPT-2 or a relative, given other defaults and other fields of `ModelConfig`."""
    d_model = options.whole("n_embd")
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=d_model,
        d_ff=options.whole("n_inner", 4 * d_model),
        n_heads=options.whole("n_head"),
        n_decoder_layers=options.whole("n_layer"),
        max_seq_len=options.whole("n_positions", n_positions),
        layer_norm_eps=options.number("layer_norm_epsilon", 1e-5),
        activation=options.choice("activation_function", ACTIVATIONS, activation),
        scale_scores=options.switch("scale_attn_weights", True),
        tie_embeddings=options.tying(is_tied),
        dropout=options.number("resid_pdrop", dropout),
        dropout_pattern=options.number("attn_pdrop", dropout),
        **options.tokens_of_decoder(bos=GPT2_END, eos=GPT2_END),
        **{"positions": "learned", **fields},
    )


def beyond_config(options: Options) -> dict[str, bool]:
    """Return whether the scores of layer i are divided by i + 1, as in Mistral's GPT-2 (Karamcheti et al. 2021)."""
    return {"divides_by_layer": options.switch("scale_attn_by_inverse_layer_idx", False)}


def keys(config: ModelConfig, *, divides_by_layer: bool = False) -> tuple[Entry, ...]:
    """Return the entries of a GPT-2."""
    layer = (
        *modules({"ln_1": "ln1", "ln_2": "ln2"}),
        *conv1d("attn.c_attn", "self_attn.q", "self_attn.k", "self_attn.v"),
        *conv1d("attn.c_proj", "self_attn.out"),
        *conv1d("mlp.c_fc", "mlp.up"),
        *conv1d("mlp.c_proj", "mlp.down"),
    )
    layers = in_layers(config, "transformer.h.*", layer)
    if divides_by_layer:
        queries = [(i, f"decoder.blocks.{i}.self_attn.q") for i in range(config.n_decoder_layers)]
        layers = scaled(layers, {f"{q}.{part}": 1 / (i + 1) for i, q in queries for part in BOTH})
    return (*ends(config), *layers)


def ends(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries before and after the layers."""
    return (
        *embeddings(config, "transformer.wte.weight", head=HEAD),
        *([Entry("transformer.wpe.weight", ("decoder.pos_embed.table",))] if config.positions == "learned" else []),
        *module("transformer.ln_f", "decoder.ln_final"),
    )


def conv1d(theirs: str, *ours: str) -> tuple[Entry, Entry]:
    """Return the entries of the library's Conv1D: one or several linear layers, stored as [in, out]."""
    weights, biases = (tuple(f"{name}.{part}" for name in ours) for part in BOTH)
    return (
        Entry(f"{theirs}.weight", weights, lambda weight: weight.transpose(0, 1).chunk(len(ours))),
        Entry(f"{theirs}.bias", biases, lambda bias: bias.chunk(len(ours))),
    )


FAMILIES = (
    Family(model_type="gpt2", read=read, keys=keys, head=HEAD, prefix="transformer.", beyond_config=beyond_config),
)
