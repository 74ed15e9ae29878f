"""GPT-NeoX and Pythia: decoder-only, pre-norm, parallel attention and feed-forward, partially rotary heads."""

from collections.abc import Sequence

from torch import Tensor

from transformer_core.checkpoints.entries import BOTH, NORMS, Cut, Entry, embeddings, fused, in_layers, module, modules
from transformer_core.checkpoints.family import Family, decoder_only, sizes
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.rotary_options import read_rotary
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "embed_out.weight"  # in files; "lm_head.weight" in memory


def read(options: Options) -> ModelConfig:
    """Return our configuration of a GPT-NeoX, such as Pythia.

    Source: Black et al. 2022, sec. 2.1, Biderman et al. 2023, sec. 2, and the library's class.
    """
    options.must_be("attention_bias", True, Message("this family requires attention biases"))
    return decoder_only(
        **sizes(options),
        max_seq_len=options.whole("max_position_embeddings", 2048),
        **read_rotary(options, fraction=options.number("rotary_pct", 0.25), base="rotary_emb_base"),
        parallel_residual=options.switch("use_parallel_residual", True),
        layer_norm_eps=options.number("layer_norm_eps", 1e-5),
        activation=options.choice("hidden_act", ACTIVATIONS, "gelu"),
        tie_embeddings=options.tying(False),
        dropout=options.number("hidden_dropout", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=0, eos=2),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a GPT-NeoX."""
    layer = (*modules(NORMS), *sub_layers("attention", cut=head_by_head(config.n_heads)))
    return (
        *embeddings(config, "gpt_neox.embed_in.weight", head=HEAD),
        *module("gpt_neox.final_layer_norm", "decoder.ln_final"),
        *in_layers(config, "gpt_neox.layers.*", layer),
    )


def sub_layers(attention: str, *, cut: Cut, parts: Sequence[str] = BOTH) -> tuple[Entry, ...]:
    """Return the entries of a layer's linear layers, which BLOOM and Falcon have, too."""
    linear = {f"{attention}.dense": "self_attn.out", "mlp.dense_h_to_4h": "mlp.up", "mlp.dense_4h_to_h": "mlp.down"}
    return (*fused(f"{attention}.query_key_value", "self_attn", cut=cut, parts=parts), *modules(linear, parts))


def head_by_head(n_heads: int) -> Cut:
    """Return a function that splits rows of all heads, [head, 3, d_head, ...], into q, k and v."""

    def cut(weight: Tensor) -> tuple[Tensor, ...]:
        by_head = weight.unflatten(0, (n_heads, 3, -1))
        return tuple(part.flatten(end_dim=1) for part in by_head.unbind(dim=1))

    return cut


FAMILIES = (
    Family(
        model_type="gpt_neox", read=read, keys=keys, head=HEAD, prefix="gpt_neox.", renamed={"lm_head.": "embed_out."}
    ),
)
