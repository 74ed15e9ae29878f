"""github.com/jadore801120/attention-is-all-you-need-pytorch: post-norm, with normalized embeddings."""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from transformer_core.checkpoints.layout import Description, Layout, SavedModel, having
from transformer_core.checkpoints.paper_names import PaperNames
from transformer_core.checkpoints.sinusoids import stored_positions

NAME = "github.com/jadore801120/attention-is-all-you-need-pytorch"
NAMES = PaperNames(
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
)
_SCALED = "scale_emb_or_prj"  # what is scaled if the target's embedding is tied: "emb", "prj" or "none"
_SPECIAL = {"pad": 1, "bos": 2, "eos": 3}  # tokens of both vocabularies


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return the options with which the model was trained, which are in its file; config.json takes precedence."""
    return {**_trained_with(saved), **saved.config}


def _trained_with(saved: SavedModel) -> dict[str, Any]:
    trained = saved.other.get("settings")
    values = vars(trained) if isinstance(trained, argparse.Namespace) else trained if isinstance(trained, dict) else {}
    names = ("n_head", "dropout", "trg_pad_idx", _SCALED)
    return {name: values[name] for name in names if isinstance(values.get(name), int | float | str)}


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a model.

    Source: the repository since 2020-06-07, whose vocabularies begin with <unk>, <blank>, <s> and </s>.
    """
    described = NAMES.describe(
        saved,
        given,
        NAME,
        special=_SPECIAL,
        layer_norm_eps=1e-6,
    )
    is_tied = described.fields["tie_embeddings"] != "none"
    scaled = settings(saved).get(_SCALED, "prj") if is_tied else "none"
    fields = {**described.fields, "scale_embeddings": scaled == "emb", "scale_logits": scaled == "prj"}
    return replace(described, fields=fields)


LAYOUTS = (
    Layout(
        name=NAME,
        model_type="jadore_transformer",
        recognize=having(*NAMES.landmarks, *NAMES.positions),
        describe=describe,
        keys=NAMES.keys,
        head=NAMES.landmarks[2],
        names={"n_head": "n_heads", "trg_pad_idx": "pad_id", _SCALED: ""},
        settings=settings,
        ignored=stored_positions(NAMES.positions),
    ),
)
