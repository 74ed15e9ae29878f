"""GPTBigCode (SantaCoder, StarCoder): a GPT-2 whose heads share one key head and one value head."""

from torch import Tensor

from transformer_core.checkpoints.entries import Cut, Entry, fused, in_layers, modules
from transformer_core.checkpoints.families import gpt2
from transformer_core.checkpoints.families.gpt_neox import head_by_head
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

LINEAR = {"attn.c_proj": "self_attn.out", "mlp.c_fc": "mlp.up", "mlp.c_proj": "mlp.down"}


def read(options: Options) -> ModelConfig:
    """Return our configuration of a GPTBigCode.

    Source: Li et al. 2023, sec. 5.2, and the library's class; Shazeer 2019 for multi-query attention.
    """
    options.must_be("add_cross_attention", False, Message("cross-attention is only supported together with an encoder"))
    options.idle("attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "num_key_value_heads")
    options.idle("summary_activation")
    n_kv_heads = 1 if options.switch("multi_query", True) else 0
    return gpt2.read_kin(options, activation="gelu_pytorch_tanh", n_kv_heads=n_kv_heads)


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a GPTBigCode."""
    cut = head_by_head(config.n_heads) if config.n_kv_heads == config.n_heads else one_after_another(config)
    layer = (*modules({"ln_1": "ln1", "ln_2": "ln2", **LINEAR}), *fused("attn.c_attn", "self_attn", cut=cut))
    return (*gpt2.ends(config), *in_layers(config, "transformer.h.*", layer))


def one_after_another(config: ModelConfig) -> Cut:
    """Return a function that splits rows of all query heads, then all key heads, then all value heads."""
    width, kv_width = config.n_heads * config.d_head, config.n_kv_heads * config.d_head

    def cut(weight: Tensor) -> tuple[Tensor, ...]:
        return weight.split((width, kv_width, kv_width))

    return cut


FAMILIES = (Family(model_type="gpt_bigcode", read=read, keys=keys, head=gpt2.HEAD, prefix="transformer."),)
