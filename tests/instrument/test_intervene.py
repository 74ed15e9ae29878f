"""Interventions as such: where they act, in which order, for how long, and what they may return."""

from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import random_tokens, shaken_model, small_config
from transformer_core.errors import InterventionError, SiteError

pytestmark = pytest.mark.usefixtures("without_gradients")
Z = "decoder.blocks.0.cross_attn.hook_z"
RESID = "decoder.blocks.0.hook_resid_mid"
SRC, TGT = random_tokens([7, 4], vocab_size=13), random_tokens([3, 5], vocab_size=13, seed=1)


@pytest.fixture(scope="module")
def model() -> tc.Transformer:
    return shaken_model(small_config())


def add(amount: float):
    return lambda value, site: value + amount


def times(factor: float):
    return lambda value, site: value * factor


def captured(model: tc.Transformer, site: str) -> Tensor:
    with tc.capture(model, site) as acts:
        model(SRC, TGT)
    return acts[site]


def test_the_model_goes_on_with_the_returned_value(model: tc.Transformer):
    """At the last site the effect is plain arithmetic."""
    plain = model(SRC, TGT)
    with tc.intervene(model, {"hook_logits": lambda value, site: value * 2 + 1}):
        assert torch.equal(model(SRC, TGT), plain * 2 + 1)


def test_a_function_learns_where_it_is(model: tc.Transformer):
    seen = []

    def look(value: Tensor, site: tc.Site) -> Tensor:
        seen.append(site)
        return value

    with tc.intervene(model, {"*.hook_z": look, "hook_logits": look}):
        model(SRC, TGT)
    names = [f"{attn}.hook_z" for attn in ("encoder.blocks.0.self_attn", "decoder.blocks.0.self_attn")]
    assert [site.name for site in seen] == [*names, Z, "hook_logits"]
    assert [site.n_heads for site in seen] == [2, 2, 2, None]
    assert {site.first for site in seen} == {0}


def test_several_at_one_site_act_in_the_order_in_which_they_are_written(model: tc.Transformer):
    plain = model(SRC, TGT)
    with tc.intervene(model, {"hook_logits": [add(1), times(10)]}):
        assert torch.equal(model(SRC, TGT), (plain + 1) * 10)
    with tc.intervene(model, {"hook_log*": times(10), "hook_logits": add(1)}):
        assert torch.equal(model(SRC, TGT), plain * 10 + 1)
    with tc.intervene(model, {"hook_logits": []}):
        assert torch.equal(model(SRC, TGT), plain)


def test_a_capture_inside_keeps_what_was_made_and_one_around_what_was_given(model: tc.Transformer):
    plain = captured(model, RESID)
    with tc.intervene(model, {RESID: add(1)}), tc.capture(model, RESID) as inside:
        model(SRC, TGT)
    with tc.capture(model, RESID, "hook_logits") as around, tc.intervene(model, {RESID: add(1)}):
        logits = model(SRC, TGT)
    assert torch.equal(inside[RESID], plain + 1) and torch.equal(around[RESID], plain)
    assert torch.equal(around["hook_logits"], logits)  # whose input was changed
    with tc.intervene(model, {RESID: add(1)}), tc.intervene(model, {RESID: times(10)}):
        assert torch.equal(captured(model, RESID), (plain + 1) * 10)  # the outer one acts first


def test_what_writes_on_its_value_changes_nothing_else(model: tc.Transformer):
    """Two sites may show the same tensor: in pre-norm, one block's end is the next one's beginning."""
    model = shaken_model(small_config(norm_position="pre", n_decoder_layers=2))
    post, pre = "decoder.blocks.0.hook_resid_post", "decoder.blocks.1.hook_resid_pre"

    def clear(value: Tensor, site: tc.Site) -> Tensor:
        return value.zero_()

    with tc.capture(model, post, pre) as plain:
        model(SRC, TGT)
    with tc.capture(model, post, pre) as acts, tc.intervene(model, {pre: clear}):
        in_place = model(SRC, TGT)
    assert torch.equal(acts[post], plain[post]) and torch.equal(acts[pre], plain[pre])
    with tc.intervene(model, {pre: tc.zero()}):
        assert torch.equal(model(SRC, TGT), in_place)


def test_afterwards_the_model_has_the_same_bits(model: tc.Transformer):
    """Left as intended, by an exception, or by one of the intervention itself."""

    def fails(value: Tensor, site: tc.Site) -> Tensor:
        raise ZeroDivisionError

    sites = [site for site in tc.site_names(model) if not site.endswith("hook_mask")]
    state = {name: value.clone() for name, value in model.state_dict().items()}
    before = model(SRC, TGT)
    for site in sites:
        with tc.intervene(model, {site: add(1)}):
            changed = model(SRC, TGT)
        assert not torch.equal(changed, before) or site.endswith(("self_attn.hook_k", "cross_attn.hook_k")), site
        assert torch.equal(model(SRC, TGT), before)
    with pytest.raises(ZeroDivisionError), tc.intervene(model, {RESID: fails}):
        model(SRC, TGT)
    assert torch.equal(model(SRC, TGT), before)
    with tc.intervene(model, {RESID: add(1)}):
        with pytest.raises(SiteError), tc.intervene(model, {"hook_no": add(1)}):
            pass
        model(SRC, TGT)
    assert torch.equal(model(SRC, TGT), before)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    "function, complaint",
    [
        (lambda value, site: None, "returned NoneType; it must return a tensor"),
        (lambda value, site: value[:, :1], r"returned float32 \(2, 1, 5, 3\) on cpu; expected float32 \(2, 2, 5, 3\)"),
        (lambda value, site: value.double(), r"returned float64 \(2, 2, 5, 3\) on cpu; expected float32"),
        (lambda value, site: value.to("meta"), r"returned float32 \(2, 2, 5, 3\) on meta; expected float32 .* on cpu"),
    ],
)
def test_what_the_model_cannot_go_on_with_is_an_error(model: tc.Transformer, function: Any, complaint: str):
    with (
        pytest.raises(InterventionError, match=rf"^the intervention at {Z} {complaint}"),
        tc.intervene(model, {Z: function}),
    ):
        model(SRC, TGT)


def test_a_mask_may_be_one_for_each_head(model: tc.Transformer):
    mask, pattern = "decoder.blocks.0.cross_attn.hook_mask", "decoder.blocks.0.cross_attn.hook_pattern"

    def only_first_key_for_head_1(value: Tensor, site: tc.Site) -> Tensor:
        value = value.repeat(1, 2, 1, 1)
        value[:, 1, :, 1:] = False
        return value

    with tc.intervene(model, {mask: only_first_key_for_head_1}), tc.capture(model, pattern) as acts:
        model(SRC, TGT)
    assert torch.equal(acts[pattern][:, 0], captured(model, pattern)[:, 0])
    assert (acts[pattern][:, 1, :, 0] == 1).all() and not acts[pattern][:, 1, :, 1:].any()


def test_a_position_that_the_text_has_not_is_an_error_on_leaving(model: tc.Transformer):
    scores, k = "decoder.blocks.0.cross_attn.hook_attn_scores", "decoder.blocks.0.cross_attn.hook_k"
    for site, edit, complaint in (
        (RESID, tc.zero(positions=[4, 5]), "refers to position 5, but there were only 5, counted from 0"),
        (k, tc.zero(positions=[7]), "refers to position 7, but there were only 7"),
        (scores, tc.knock_out([(None, 4, 6), (None, 4, 7)]), "refers to key 7, but there were only 7"),
    ):
        message = rf"^the intervention at {site} {complaint}"
        with pytest.raises(InterventionError, match=message), tc.intervene(model, {site: edit}):
            model(SRC, TGT)
    with pytest.raises(ZeroDivisionError), tc.intervene(model, {RESID: tc.zero(positions=[9])}):
        model(SRC, TGT)
        raise ZeroDivisionError  # which matters more
    with pytest.raises(SiteError, match="no forward pass"), tc.intervene(model, {RESID: tc.zero(positions=[9])}):
        pass  # nothing was read
    with tc.intervene(model, {RESID: tc.zero(positions=[9])}, is_checked=False):
        model(SRC, TGT)
