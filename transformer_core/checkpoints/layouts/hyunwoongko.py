"""github.com/hyunwoongko/transformer: post-norm, without scaled embeddings; positions are not in the file."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from transformer_core.checkpoints.describing import usual
from transformer_core.checkpoints.layout import Description, SavedModel
from transformer_core.checkpoints.paper_names import PaperNames
from transformer_core.errors import Message

NAMES = PaperNames(
    program="github.com/hyunwoongko/transformer",
    self_attn=("attention", "self_attention"),
    cross_attn="enc_dec_attention",
    projections=("w_q", "w_k", "w_v", "w_concat"),
    feed_forward=("ffn.linear1", "ffn.linear2"),
    norms=(("norm1", "norm2"), ("norm1", "norm2", "norm3")),
    norm_parts=("gamma", "beta"),
    embeddings=("encoder.emb.tok_emb", "decoder.emb.tok_emb"),
    output="decoder.linear",
    special={"pad": 1, "bos": 2, "eos": 3},
    fields={"scale_embeddings": False, "layer_norm_eps": 1e-12},
)
_VERSION = Message(
    "Read as this program has computed it since 2022-12-08; its files do not record which version wrote them, and "
    "older ones normalize differently."
)


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a model.

    Source: the repository, whose vocabularies begin with <unk>, <pad>, <sos> and <eos>.
    """
    described = NAMES.describe(saved, given)
    conventions = [*described.conventions, usual("max_seq_len", 256, NAMES.program)]
    return replace(described, conventions=conventions, notes=[_VERSION, *described.notes])


LAYOUTS = (NAMES.layout("hyunwoongko_transformer", describe),)
