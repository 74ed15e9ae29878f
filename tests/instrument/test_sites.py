"""Sites: what a name says, and how names are found."""

import re
from typing import Any

import pytest

import transformer_core as tc
from tests.model.building import DECODER, shaken_model, small_config
from transformer_core.errors import SiteError
from transformer_core.hooks import named_hook_points
from transformer_core.instrument.sites import matching


@pytest.mark.parametrize(
    "name, stem, has_keys, is_of_memory",
    [
        ("decoder.blocks.0.cross_attn.hook_k", "hook_k", False, True),
        ("decoder.blocks.0.cross_attn.k_norm.hook_normalized", "hook_normalized", False, True),
        ("decoder.blocks.0.cross_attn.q_norm.hook_normalized", "hook_normalized", False, False),
        ("decoder.blocks.0.cross_attn.hook_pattern", "hook_pattern", True, False),
        ("decoder.blocks.0.self_attn.hook_mask", "hook_mask", True, False),
        ("hook_logits", "hook_logits", False, False),
    ],
)
def test_what_a_name_says(name: str, stem: str, has_keys: bool, is_of_memory: bool):
    site = tc.Site(name=name)
    assert (site.stem, site.has_keys, site.is_of_memory) == (stem, has_keys, is_of_memory)
    assert (site.first, site.n_heads) == (0, None)


def test_names_are_found_once_and_in_the_order_of_the_model():
    points = named_hook_points(tc.build(small_config()))
    matches = matching(points, ["hook_logits", "*.hook_z", "encoder.*.hook_z"])
    attentions = ("encoder.blocks.0.self_attn", "decoder.blocks.0.self_attn", "decoder.blocks.0.cross_attn")
    assert list(matches) == [*(f"{attention}.hook_z" for attention in attentions), "hook_logits"]
    assert all(matches[name] is points[name] for name in matches)
    assert matching(points, []) == {}


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ({"stem": "pattern", "attention": "cross"}, ["decoder.blocks.0.cross_attn.hook_pattern"]),
        ({"stem": "resid_post"}, [f"{stack}.blocks.0.hook_resid_post" for stack in ("encoder", "decoder")]),
        ({"stem": "pre", "attention": "encoder", "layer": 0}, ["encoder.blocks.0.mlp.hook_pre"]),
        ({"stem": "pos_embed", "attention": "decoder"}, ["decoder.hook_pos_embed"]),
    ],
)
def test_a_kind_of_site_is_selected(arguments: dict[str, Any], expected: list[str]):
    assert list(matching(named_hook_points(shaken_model(small_config())), [tc.sites(**arguments)])) == expected


def test_a_site_by_layer_and_attention_is_one_of_the_model():
    names = tc.site_names(shaken_model(small_config()))
    for name in names:
        matches = re.fullmatch(r"(encoder|decoder)\.blocks\.0\.(?:(\w+)\.)?hook_(\w+)", name)
        if matches is None or matches[2] in ("ln1", "ln2", "ln_cross"):
            continue
        attention = "cross" if matches[2] == "cross_attn" else matches[1]
        assert tc.site(matches[3], layer=0, attention=attention) == name
    with pytest.raises(SiteError, match="encoder, decoder or cross; got 'self'"):
        tc.site("pattern", layer=0, attention="self")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"layer": 99, "attention": "cross"}, "there is no layer 99 at .*; the last layer there is 0"),
        ({"layer": 1, "attention": "encoder"}, "there is no layer 1 at .*; the last layer there is 0"),
        ({"layer": -1, "attention": "decoder"}, "layer must be a whole number, counted from 0; got -1"),
        ({"layer": 99}, "attention must be encoder, decoder or cross; got None"),
    ],
)
def test_a_layer_that_is_not_there_is_named(arguments: dict[str, Any], sentence: str):
    points = named_hook_points(shaken_model(small_config()))
    with pytest.raises(SiteError, match=sentence):
        matching(points, [tc.site("pattern", **arguments)])
    with pytest.raises(SiteError, match="no layer 5"):
        matching(points, [tc.sites("pattern", layer=5)])
    decoder = named_hook_points(shaken_model(small_config(**DECODER)))
    with pytest.raises(SiteError, match="this model has no encoder"):
        matching(decoder, [tc.site("pattern", layer=0, attention="encoder")])
