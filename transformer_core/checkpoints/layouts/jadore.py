"""github.com/jadore801120/attention-is-all-you-need-pytorch: post-norm, with normalized embeddings."""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from transformer_core.checkpoints.layout import Description, SavedModel
from transformer_core.checkpoints.paper_names import PaperNames

NAMES = PaperNames(
    program="github.com/jadore801120/attention-is-all-you-need-pytorch",
    layer="{stack}.layer_stack.{i}",
    self_attn=("slf_attn", "slf_attn"),
    cross_attn="enc_attn",
    projections=("w_qs", "w_ks", "w_vs", "fc"),
    feed_forward=("pos_ffn.w_1", "pos_ffn.w_2"),
    norms=(
        ("slf_attn.layer_norm", "pos_ffn.layer_norm"),
        ("slf_attn.layer_norm", "enc_attn.layer_norm", "pos_ffn.layer_norm"),
    ),
    embedding_norm="{stack}.layer_norm",
    embeddings=("encoder.src_word_emb", "decoder.trg_word_emb"),
    positions=("encoder.position_enc.pos_table", "decoder.position_enc.pos_table"),
    output="trg_word_prj",
    special={"pad": 1, "bos": 2, "eos": 3},
    fields={"layer_norm_eps": 1e-6},
)
_SCALED = "scale_emb_or_prj"  # what is scaled if the target's embedding is tied: "emb", "prj" or "none"
_OPTIONS = {"n_head": "n_heads", "trg_pad_idx": "pad_id", _SCALED: ""}


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return the options with which the model was trained, which are in its file; config.json takes precedence."""
    trained = saved.other.get("settings")
    values = vars(trained) if isinstance(trained, argparse.Namespace) else trained if isinstance(trained, dict) else {}
    names = (*_OPTIONS, "dropout")
    known = {name: values[name] for name in names if isinstance(values.get(name), int | float | str)}
    return {**known, **saved.config}


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a model.

    Source: the repository since 2020-06-07, whose vocabularies begin with <unk>, <blank>, <s> and </s>.
    """
    described = NAMES.describe(saved, given)
    is_tied = described.fields["tie_embeddings"] != "none"
    scaled = settings(saved).get(_SCALED, "prj") if is_tied else "none"
    fields = {**described.fields, "scale_embeddings": scaled == "emb", "scale_logits": scaled == "prj"}
    return replace(described, fields=fields)


LAYOUTS = (NAMES.layout("jadore_transformer", describe, names=_OPTIONS, settings=settings),)
