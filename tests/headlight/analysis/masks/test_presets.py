"""Which presets say something about which model."""

from headlight.analysis.masks.presets import PRESETS, attention_for, padded_sides, presets_of
from tests.model.building import DECODER, ENCODER, odd_config


def test_a_model_is_offered_what_concerns_it():
    assert set(presets_of(odd_config())) == set(PRESETS)
    assert set(PRESETS) - set(presets_of(odd_config(**DECODER))) == {"cross", "forgotten"}  # causal masks hide padding
    assert set(PRESETS) - set(presets_of(odd_config(**ENCODER))) == {"cross", "unshifted"}
    without_padding = presets_of(odd_config(**DECODER, pad_id=None))
    assert not any(preset.needs_padding for preset in without_padding.values())


def test_padding_stands_behind_the_keys_or_where_it_is_forgotten():
    assert padded_sides(PRESETS["padding"], "decoder", odd_config()) == ("target",)
    assert padded_sides(PRESETS["forgotten"], "decoder", odd_config()) == ("source",)
    assert padded_sides(PRESETS["forgotten"], "decoder", odd_config(**DECODER)) == ("target",)


def test_a_preset_that_an_attention_does_not_show_is_looked_at_elsewhere():
    forgotten = PRESETS["forgotten"]
    assert attention_for(forgotten, "decoder", odd_config()) == "cross"
    assert attention_for(forgotten, "decoder", odd_config(**DECODER)) == "decoder"
    assert attention_for(PRESETS["cross"], "decoder", odd_config()) == "cross"
