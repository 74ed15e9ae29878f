"""Attentions: those that a model has, at sites that it has."""

import transformer_core as tc
from headlight.analysis.trace.attentions import attentions_of
from tests.model.building import each_variation, odd_config, varied_model


@each_variation
def test_every_attention_of_a_model_and_no_other(variation: str):
    config = (model := varied_model(variation)).config
    results = {a.site(layer) for a in attentions_of(config).values() for layer in range(a.n_layers(config))}
    assert results == {site for site in tc.site_names(model) if site.endswith(".hook_pattern")}
    assert [*attentions_of(odd_config())] == ["encoder", "decoder", "cross"]
