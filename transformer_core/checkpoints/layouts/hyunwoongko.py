"""github.com/hyunwoongko/transformer: post-norm, without scaled embeddings; positions are not in the file."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from transformer_core.checkpoints.layout import Convention, Description, Layout, SavedModel, having
from transformer_core.checkpoints.paper_names import PaperNames
from transformer_core.errors import Message

NAME = "github.com/hyunwoongko/transformer"
NAMES = PaperNames(
    self_attn=("attention", "self_attention"),
    cross_attn="enc_dec_attention",
    projections=("w_q", "w_k", "w_v", "w_concat"),
    feed_forward=("ffn.linear1", "ffn.linear2"),
    norms=(("norm1", "norm2"), ("norm1", "norm2", "norm3")),
    norm_parts=("gamma", "beta"),
    embeddings=("encoder.emb.tok_emb", "decoder.emb.tok_emb"),
    output="decoder.linear",
)
_SPECIAL = {"pad": 1, "bos": 2, "eos": 3}  # tokens of both vocabularies


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a model.

    Source: the repository, whose vocabularies begin with <unk>, <pad>, <sos> and <eos>.
    """
    described = NAMES.describe(saved, given, NAME, special=_SPECIAL, scale_embeddings=False, layer_norm_eps=1e-12)
    length = Convention(
        "max_seq_len",
        256,
        Message(
            "Read with {n} positions, the default of {program}; its files do not record them.", n=256, program=NAME
        ),
    )
    version = Message(
        "Read as this program has computed it since 2022-12-08; its files do not record which version wrote them, and "
        "older ones normalize differently."
    )
    return replace(described, conventions=[*described.conventions, length], notes=[version, *described.notes])


LAYOUTS = (
    Layout(
        name=NAME,
        model_type="hyunwoongko_transformer",
        recognize=having(*NAMES.landmarks),
        describe=describe,
        keys=NAMES.keys,
        head=NAMES.landmarks[2],
    ),
)
