"""The Annotated Transformer: pre-norm, with a normalization that divides by the sample standard deviation."""

from collections.abc import Mapping
from typing import Any

from transformer_core.checkpoints.layout import Description, Layout, SavedModel, having
from transformer_core.checkpoints.paper_names import PaperNames
from transformer_core.checkpoints.sinusoids import stored_positions

NAME = "The Annotated Transformer"
NAMES = PaperNames(
    self_attn=("self_attn", "self_attn"),
    cross_attn="src_attn",
    projections=("linears.0", "linears.1", "linears.2", "linears.3"),
    feed_forward=("feed_forward.w_1", "feed_forward.w_2"),
    norms=(
        ("sublayer.0.norm", "sublayer.1.norm"),
        ("sublayer.0.norm", "sublayer.1.norm", "sublayer.2.norm"),
    ),
    norm_parts=("a_2", "b_2"),
    final_norm="{stack}.norm",
    embeddings=("src_embed.0.lut", "tgt_embed.0.lut"),
    positions=("src_embed.1.pe", "tgt_embed.1.pe"),
    output="generator.proj",
    has_sample_deviation=True,
)
_SPECIAL = {"pad": 2, "bos": 0, "eos": 1}  # tokens of both vocabularies


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a model.

    Source: Huang, Subramanian, Sum, Almubarak and Biderman 2022, "The Annotated Transformer": its vocabularies begin
    with <s>, </s>, <blank> and <unk>.
    """
    return NAMES.describe(
        saved,
        given,
        NAME,
        special=_SPECIAL,
        norm_position="pre",
        layer_norm_eps=1e-12,
    )


LAYOUTS = (
    Layout(
        name=NAME,
        model_type="annotated_transformer",
        recognize=having(*NAMES.landmarks, *NAMES.positions),
        describe=describe,
        keys=NAMES.keys,
        head=NAMES.landmarks[2],
        ignored=stored_positions(NAMES.positions),
    ),
)
