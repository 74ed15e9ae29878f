"""Attentions: those that a model has, at sites that it has."""

import pytest

import transformer_core as tc
from transformer_core.analysis.trace.attentions import attentions_of

SMALL = {"vocab_size": 9, "d_model": 8, "d_ff": 8, "n_heads": 2, "max_seq_len": 8, "tie_embeddings": "target"}


@pytest.mark.parametrize(
    ("architecture", "n_layers"),
    [
        ("encoder_decoder", {"encoder": 2, "decoder": 3, "cross": 3}),
        ("decoder_only", {"decoder": 3}),
        ("encoder_only", {"encoder": 2}),
    ],
)
def test_every_attention_of_a_model_and_no_other(architecture: str, n_layers: dict[str, int]):
    config = tc.ModelConfig.from_dict(
        SMALL
        | {
            "architecture": architecture,
            "n_encoder_layers": n_layers.get("encoder", 0),
            "n_decoder_layers": n_layers.get("decoder", 0),
        }
    )
    attentions = attentions_of(config)
    assert {name: attention.n_layers(config) for name, attention in attentions.items()} == n_layers
    sites = {attention.site(layer) for attention in attentions.values() for layer in range(attention.n_layers(config))}
    assert sites == {site for site in tc.site_names(tc.build(config)) if site.endswith(".hook_pattern")}
