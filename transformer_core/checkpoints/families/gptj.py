"""GPT-J: decoder-only, partially rotary heads, parallel attention and feed-forward with one shared normalization."""

from transformer_core.checkpoints.entries import ATTENTION, WEIGHT, Entry, in_layers, inside, modules, shared
from transformer_core.checkpoints.families import gpt2
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message


def read(options: Options) -> ModelConfig:
    """Return our configuration of a GPT-J (Wang and Komatsuzaki 2021)."""
    options.must_be("rotary", True, Message("this family requires rotary positions"))
    options.must_be("scale_attn_weights", True, Message("scores must be divided by sqrt(d_head)"))
    n_heads, d_model = options.whole("n_head"), options.whole("n_embd")
    return gpt2.read_kin(
        options,
        n_positions=2048,
        is_tied=False,
        dropout=0.0,
        positions="rotary_interleaved",
        rotary_fraction=options.whole("rotary_dim", 64) * max(n_heads, 1) / max(d_model, 1),
        parallel_residual=True,
        attention_bias="none",
        unembed_bias=True,
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a GPT-J."""
    layer = (
        *shared("ln_1", ("ln1", "ln2")),
        *inside("attn", "self_attn", modules(ATTENTION, WEIGHT)),
        *modules({"mlp.fc_in": "mlp.up", "mlp.fc_out": "mlp.down"}),
    )
    bias = [Entry("lm_head.bias", ("unembed.bias",))] if config.unembed_bias else []
    return (*gpt2.ends(config), *bias, *in_layers(config, "transformer.h.*", layer))


FAMILIES = (Family(model_type="gptj", read=read, keys=keys, head=gpt2.HEAD, prefix="transformer."),)
