"""Two BERTs as encoder and decoder ("bert2bert"): post-norm, learned positions, the decoder with cross-attention."""

from dataclasses import replace

from torch import Tensor

from transformer_core.checkpoints.entries import Entry, embeddings_of_pair, in_layers, inside, module, modules
from transformer_core.checkpoints.families import bert
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "decoder.cls.predictions.decoder.weight"
SAME = ("d_model", "d_ff", "n_heads", "max_seq_len", "layer_norm_eps", "activation", "dropout", "dropout_pattern")
_PREFIXES = {"encoder": "encoder", "decoder": "decoder.bert"}


def read(options: Options) -> ModelConfig:
    """Return our configuration of two BERTs.

    Segments are always 0 here, so their embedding becomes part of that of the positions.

    Source: Rothe et al. 2020, sec. 2, and the library's class.
    """
    stacks = {}
    for name in _PREFIXES:
        inner = options.inside(name)
        if inner.value("model_type") != "bert":
            raise options.error(name, Message("only BERTs are supported as encoder and decoder"))
        stacks[name] = bert.read_kin(inner, pad_id=0, is_decoder=name == "decoder", n_segments=0)
        inner.finish()
    encoder, decoder = stacks["encoder"], stacks["decoder"]
    for field in SAME:
        if getattr(encoder, field) != getattr(decoder, field):
            raise options.error("decoder", Message("encoder and decoder must have the same {field}", field=field))
    options.n_tokens = decoder.vocab_size
    pad = options.token("pad_token_id", decoder.pad_id)
    start = options.token("decoder_start_token_id", decoder.bos_id)
    if start is None:
        raise options.error("decoder_start_token_id", Message("it is needed, because outputs begin with this token"))
    return replace(
        decoder,
        architecture="encoder_decoder",
        n_encoder_layers=encoder.n_encoder_layers,
        n_decoder_layers=decoder.n_encoder_layers,
        src_vocab_size=0 if encoder.vocab_size == decoder.vocab_size else encoder.vocab_size,
        pad_id=pad,
        bos_id=start,
        eos_id=options.token("eos_token_id"),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of both BERTs, in which the decoder's output layer is tied to its embedding or not."""
    words = (f"{theirs}.embeddings.word_embeddings.weight" for theirs in _PREFIXES.values())
    entries = [*embeddings_of_pair(config, *words, head=HEAD)]
    for stack, theirs in _PREFIXES.items():
        entries += [
            Entry(
                f"{theirs}.embeddings.position_embeddings.weight",
                (f"{stack}.pos_embed.table",),
                others=(f"{theirs}.embeddings.token_type_embeddings.weight",),
                joined=_with_first_segment,
            ),
            *module(f"{theirs}.embeddings.LayerNorm", f"{stack}.embedding_norm"),
            *in_layers(config, f"{theirs}.encoder.layer.*", bert.LAYER, stack=stack),
        ]
    cross = (
        *inside("crossattention", "cross_attn", modules(bert.ATTENTION)),
        *module("crossattention.output.LayerNorm", "ln_cross"),
    )
    entries += in_layers(config, f"{_PREFIXES['decoder']}.encoder.layer.*", cross, stack="decoder")
    return (*entries, *bert.head(config, "decoder."))


def _with_first_segment(tables: list[Tensor]) -> Tensor:
    positions, segments = tables
    return positions.float() + segments[0].float()


FAMILIES = (Family(model_type="encoder-decoder", read=read, keys=keys, head=HEAD),)
