"""OPT: decoder-only, ReLU, learned positions whose first two rows are not used; pre-norm, in OPT-350m post-norm."""

from dataclasses import replace

from torch import Tensor

from transformer_core.checkpoints.entries import Entry, embeddings, in_layers, module, parts, rows_from
from transformer_core.checkpoints.families.marian import layer_of
from transformer_core.checkpoints.family import Family, decoder_only
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

EMBEDDING, HEAD = "model.decoder.embed_tokens.weight", "lm_head.weight"
_UNUSED_POSITIONS = 2  # the table's first rows


def read(options: Options) -> ModelConfig:
    """Return our configuration of an OPT (Zhang et al. 2022, sec. 2.1)."""
    options.must_be("layer_norm_elementwise_affine", True, Message("this family requires trained normalizations"))
    d_model = options.whole("hidden_size")
    options.idle("layerdrop", "activation_dropout")
    beyond = beyond_config(options)
    has_bias, is_pre_norm = options.switch("enable_bias", True), options.switch("do_layer_norm_before", True)
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=d_model,
        d_ff=options.whole("ffn_dim"),
        n_heads=options.whole("num_attention_heads"),
        n_decoder_layers=options.whole("num_hidden_layers"),
        max_seq_len=options.whole("max_position_embeddings", 2048),
        positions="learned",
        norm_position="pre" if is_pre_norm else "post",
        last_norm=not (is_pre_norm and options.switch("_remove_final_layer_norm", False)),
        activation=options.choice("activation_function", ACTIVATIONS, "relu"),
        feed_forward_bias=has_bias,
        attention_bias="all" if has_bias else "none",
        tie_embeddings="target" if beyond["is_tied"] and not beyond["is_narrow"] else "none",
        dropout=options.number("dropout", 0.1),
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=2, eos=2, pad=1),
    )


def beyond_config(options: Options) -> dict[str, bool]:
    """Return whether the embeddings are narrower than the model, as in OPT-350m, and whether both are the same."""
    d_model = options.whole("hidden_size")
    return {
        "is_narrow": options.whole("word_embed_proj_dim", d_model) != d_model,
        "is_tied": options.switch("tie_word_embeddings", True),
    }


def keys(config: ModelConfig, *, is_narrow: bool = False, is_tied: bool = True) -> tuple[Entry, ...]:
    """Return the entries of an OPT."""
    positions = "model.decoder.embed_positions.weight"
    return (
        *(projected(config, is_tied=is_tied) if is_narrow else embeddings(config, EMBEDDING, head=HEAD)),
        Entry(positions, ("decoder.pos_embed.table",), rows_from(_UNUSED_POSITIONS)),
        *(module("model.decoder.final_layer_norm", "decoder.ln_final") if config.has_final_norm else ()),
        *in_layers(config, "model.decoder.layers.*", layer_of(parts(config.feed_forward_bias))),
    )


def projected(config: ModelConfig, *, is_tied: bool) -> tuple[Entry, ...]:
    """Return the entries of narrow embeddings with their projections to the model's width, and back for the logits.

    Args:
        config: determines whether the model has an output layer.
        is_tied: whether the output layer is the embedding, unless the file has another.
    """
    to_model, from_model = (f"model.decoder.project_{side}.weight" for side in ("in", "out"))
    embedding = Entry(EMBEDDING, ("decoder.embed.weight",), others=(to_model,), joined=_times_transposed)
    if not config.unembed:  # the projection back is in the file, but only logits need it
        return (replace(embedding, others=(to_model, from_model)),)
    instead = (EMBEDDING,) if is_tied else ()
    return embedding, Entry(HEAD, ("unembed.weight",), others=(from_model,), joined=_times, instead=instead)


def _times_transposed(tensors: list[Tensor]) -> Tensor:
    embedding, to_model, *_ = tensors
    return embedding.float() @ to_model.float().transpose(0, 1)


def _times(tensors: list[Tensor]) -> Tensor:
    head, from_model = tensors
    return head.float() @ from_model.float()


FAMILIES = (Family(model_type="opt", read=read, keys=keys, head=HEAD, prefix="model.", beyond_config=beyond_config),)
