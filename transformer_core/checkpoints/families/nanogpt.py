"""nanoGPT: a GPT-2 in a ckpt.pt, with "model_args" beside the weights in place of a config.json."""

from transformer_core.checkpoints.family import CAUSAL_MASK, Entry, Family, Ignored, embeddings, fused, module
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig

MODEL_TYPE, ARGUMENTS = "nanogpt", "model_args"
HEAD = "lm_head.weight"
GPT2_END = 50256  # <|endoftext|>; such a vocabulary is rounded up to 50304


def read(options: Options) -> ModelConfig:
    """Return our configuration of a nanoGPT.

    It names no token that ends a text. Of GPT-2's vocabulary that token is known; of another the last one counts as it.

    Source: the class GPT of github.com/karpathy/nanoGPT.
    """
    vocab_size, d_model, bias = options.whole("vocab_size"), options.whole("n_embd"), options.switch("bias", True)
    end = GPT2_END if vocab_size > GPT2_END else vocab_size - 1
    dropout = options.number("dropout", 0.0)
    return ModelConfig(
        architecture="decoder_only",
        vocab_size=vocab_size,
        d_model=d_model,
        d_ff=4 * d_model,
        n_heads=options.whole("n_head"),
        n_encoder_layers=0,
        n_decoder_layers=options.whole("n_layer"),
        max_seq_len=options.whole("block_size"),
        positions="learned",
        norm="layer" if bias else "layer_without_bias",
        norm_position="pre",
        activation="gelu",
        feed_forward_bias=bias,
        attention_bias="all" if bias else "none",
        scale_embeddings=False,
        tie_embeddings="target",
        dropout=dropout,
        dropout_pattern=dropout,
        pad_id=None,
        bos_id=end,
        eos_id=end,
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return where each tensor of a nanoGPT goes."""
    parts = ("weight", "bias") if config.feed_forward_bias else ("weight",)
    entries = [
        *embeddings(config, "transformer.wte.weight", head=HEAD),
        Entry("transformer.wpe.weight", ("decoder.pos_embed.table",)),
        *module("transformer.ln_f", "decoder.ln_final", parts),
    ]
    for i in range(config.n_decoder_layers):
        theirs, ours = f"transformer.h.{i}", f"decoder.blocks.{i}"
        entries += [
            *module(f"{theirs}.ln_1", f"{ours}.ln1", parts),
            *fused(f"{theirs}.attn.c_attn", f"{ours}.self_attn", parts=parts),
            *module(f"{theirs}.attn.c_proj", f"{ours}.self_attn.out", parts),
            *module(f"{theirs}.ln_2", f"{ours}.ln2", parts),
            *module(f"{theirs}.mlp.c_fc", f"{ours}.mlp.up", parts),
            *module(f"{theirs}.mlp.c_proj", f"{ours}.mlp.down", parts),
        ]
    return tuple(entries)


FAMILIES = (
    Family(
        model_type=MODEL_TYPE,
        read=read,
        keys=keys,
        head=HEAD,
        prefix="transformer.",
        ignored=(Ignored(r"transformer\.h\.\d+\.attn\.bias", CAUSAL_MASK),),
    ),
)
