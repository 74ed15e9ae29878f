"""The Annotated Transformer: pre-norm, with a normalization that divides by the sample standard deviation.

Source: Huang, Subramanian, Sum, Almubarak and Biderman 2022, "The Annotated Transformer": its vocabularies begin with
<s>, </s>, <blank> and <unk>.
"""

from transformer_core.checkpoints.paper_names import PaperNames

NAMES = PaperNames(
    program="The Annotated Transformer",
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
    special={"pad": 2, "bos": 0, "eos": 1},
    fields={"norm_position": "pre", "layer_norm_eps": 1e-12},
)
LAYOUTS = (NAMES.layout("annotated_transformer"),)
