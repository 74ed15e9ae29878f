"""Sites: what a name says, and how names are found."""

import pytest

import transformer_core as tc
from tests.model.building import small_config
from transformer_core.hooks import named_hook_points
from transformer_core.instrument.sites import matching


@pytest.mark.parametrize(
    "name, stem, has_keys, is_of_memory",
    [
        ("decoder.blocks.0.cross_attn.hook_k", "hook_k", False, True),
        ("decoder.blocks.0.cross_attn.hook_v", "hook_v", False, True),
        ("decoder.blocks.0.cross_attn.k_norm.hook_normalized", "hook_normalized", False, True),
        ("decoder.blocks.0.cross_attn.q_norm.hook_normalized", "hook_normalized", False, False),
        ("decoder.blocks.0.cross_attn.hook_pattern", "hook_pattern", True, False),
        ("decoder.blocks.0.self_attn.hook_k", "hook_k", False, False),
        ("decoder.blocks.0.self_attn.hook_mask", "hook_mask", True, False),
        ("decoder.blocks.0.ln_cross.hook_normalized", "hook_normalized", False, False),
        ("hook_attn_scores", "hook_attn_scores", True, False),
        ("hook_logits", "hook_logits", False, False),
    ],
)
def test_what_a_name_says(name: str, stem: str, has_keys: bool, is_of_memory: bool):
    site = tc.Site(name=name)
    assert (site.stem, site.has_keys, site.is_of_memory) == (stem, has_keys, is_of_memory)
    assert (site.first, site.n_heads) == (0, None)


def test_names_are_found_once_and_in_the_order_of_the_model():
    points = named_hook_points(tc.build(small_config()))
    found = matching(points, ["hook_logits", "*.hook_z", "encoder.*.hook_z"])
    attentions = ("encoder.blocks.0.self_attn", "decoder.blocks.0.self_attn", "decoder.blocks.0.cross_attn")
    assert list(found) == [*(f"{attention}.hook_z" for attention in attentions), "hook_logits"]
    assert all(found[name] is points[name] for name in found)
    assert matching(points, []) == {}
