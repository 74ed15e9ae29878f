"""What is written before an attention reads, in order."""

from typing import Any

from tests.model.building import DECODER, ENCODER, odd_config
from transformer_core.analysis.walkthrough.stream import Normed, Written, stream_to


def told(steps: tuple[Written | Normed, ...]) -> str:
    """The steps in short: sources, and norms in brackets with what they normalize."""
    return " ".join(
        f"[{step.module.partition('.')[2]} of {'+'.join(site.rpartition('.hook_')[2] for site in step.sites)}]"
        if isinstance(step, Normed)
        else step.source.kind
        + ("" if step.source.head is None else f"{step.source.attention}{step.source.head}")
        for step in steps
    )  # fmt: skip


def test_post_norm_normalizes_behind_each_sum():
    config = odd_config(n_heads=2, attention_bias="all")
    assert told(stream_to(config, "decoder", layer=0, until="cross_attn")) == (
        "token position headdecoder0 headdecoder1 bias [blocks.0.ln1 of resid_mid]"
    )
    assert told(stream_to(config, "decoder", layer=1, until="self_attn")) == (
        "token position headdecoder0 headdecoder1 bias [blocks.0.ln1 of resid_mid]"
        " headcross0 headcross1 bias [blocks.0.ln_cross of resid_mid_cross]"
        " feed_forward [blocks.0.ln2 of resid_post]"
    )


def test_pre_norm_normalizes_what_is_read_alone():
    parts: dict[str, Any] = {"norm_position": "pre", "n_heads": 1, "attention_bias": "none", "positions": "none"}
    config = odd_config(**DECODER | parts)
    assert told(stream_to(config, "decoder", layer=0, until="self_attn")) == "token [blocks.0.ln1 of resid_pre]"
    assert told(stream_to(config, "decoder", layer=1, until="self_attn")) == (
        "token headdecoder0 feed_forward [blocks.1.ln1 of resid_pre]"
    )
    crossed = odd_config(**parts)
    assert told(stream_to(crossed, "decoder", layer=0, until="cross_attn")) == (
        "token headdecoder0 [blocks.0.ln_cross of resid_mid]"
    )


def test_the_end_of_a_stack_is_behind_all_its_layers():
    config = odd_config(norm_position="pre", n_heads=1, d_ff=0, attention_bias="none", n_encoder_layers=2)
    assert told(stream_to(config, "encoder", layer=0, until="end")) == (
        "token position headencoder0 headencoder0 [ln_final of resid_post]"
    )
    post = odd_config(n_heads=1, d_ff=0, attention_bias="none", n_encoder_layers=1)
    assert told(stream_to(post, "encoder", layer=0, until="end")).endswith("headencoder0 [blocks.0.ln1 of resid_post]")


def test_embeddings_are_normalized_together():
    config = odd_config(**ENCODER | {"n_segments": 2, "embedding_norm": True, "positions": "learned"})
    assert told(stream_to(config, "encoder", layer=0, until="self_attn")) == (
        "token position segment [embedding_norm of embed+pos_embed+segment_embed]"
    )
