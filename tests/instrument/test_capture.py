"""Capture: the requested sites, within the context, and nothing left on the model."""

import copy

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import random_tokens, shaken_model, small_config
from transformer_core.errors import SiteError

pytestmark = pytest.mark.usefixtures("without_gradients")
PATTERN = "decoder.blocks.0.cross_attn.hook_pattern"
SRC, TGT = random_tokens([7, 4], vocab_size=13), random_tokens([3, 5], vocab_size=13, seed=1)


@pytest.fixture(scope="module")
def model() -> tc.Transformer:
    return shaken_model(small_config())


@pytest.mark.parametrize(
    "sites, expected",
    [
        ((PATTERN,), [PATTERN]),
        (("encoder.hook_*", "hook_logits"), ["encoder.hook_embed", "encoder.hook_pos_embed", "hook_logits"]),
        (("decoder.blocks.[0-9].cross_attn.hook_[qk]",), [f"decoder.blocks.0.cross_attn.hook_{x}" for x in "qk"]),
        ((PATTERN, "*.cross_attn.hook_patter?"), [PATTERN]),
    ],
)
def test_names_and_globs(model: tc.Transformer, sites: tuple[str, ...], expected: list[str]):
    with tc.capture(model, *sites) as acts:
        model(SRC, TGT)
    assert list(acts) == expected and len(acts) == len(expected)
    assert all(site in acts for site in expected) and "encoder.hook_embe" not in acts


def test_without_a_name_the_patterns_alone(model: tc.Transformer):
    with tc.capture(model) as acts, tc.capture(model, "*") as everything:
        model(SRC, TGT)
    assert set(everything) == set(tc.site_names(model))
    assert set(acts) == {name for name in everything if name.endswith("hook_pattern")}


def test_every_forward_pass_is_kept_where_that_is_asked(model: tc.Transformer):
    site = tc.site("pattern", layer=0, attention="cross")
    with tc.capture(model, site, every=True) as acts, tc.capture(model, site) as last:
        written = tc.greedy_decode(model, SRC[:1], max_new_tokens=4).tokens[0]
    whole = run_captured(model, SRC[:1], written[None, :-1])
    steps = acts.each(site)
    assert len(steps) == len(written) - 1
    torch.testing.assert_close(torch.cat(steps, dim=2), whole)
    assert torch.equal(acts[site], steps[-1])
    assert torch.equal(torch.stack(last.each(site)), steps[-1][None])


def test_activations_are_listed_by_kind_of_site():
    model = shaken_model(small_config(n_encoder_layers=2, n_decoder_layers=3))
    with tc.capture(model, "decoder.*.hook_z", "hook_logits") as acts:
        model(SRC, TGT)
    lines = [line.split("  ") for line in repr(acts).splitlines()]
    rows = [[cell.strip() for cell in line if cell] for line in lines]
    kib = f"{sum(x.nbytes for site, x in acts.items() if 'self_attn' in site) / 1024:.1f}"
    shape = str([*acts["decoder.blocks.0.self_attn.hook_z"].shape])
    assert rows[0] == [f"Activations: 7 sites, {sum(x.nbytes for x in acts.values()) / 2**20:.2f} MiB"]
    assert rows[2] == ["decoder.blocks.{0-2}.self_attn.hook_z", shape, "float32", kib]
    assert [row[0] for row in rows[3:]] == ["decoder.blocks.{0-2}.cross_attn.hook_z", "hook_logits"]
    assert acts._repr_html_().count("<tr>") == len(rows) - 1
    with tc.capture(model, "encoder.blocks.1.*pattern", lazy=True) as lazy:
        model(SRC, TGT)
    assert " lazy " in repr(lazy) and "encoder.blocks.1.self_attn.hook_pattern" in repr(lazy)


def test_layers_are_stacked():
    model = shaken_model(small_config(n_encoder_layers=2, n_decoder_layers=3))
    with tc.capture(model, tc.sites("resid_post"), tc.sites("pattern")) as acts:
        model(SRC, TGT)
    posts = acts.stack("resid_post", attention="decoder")
    assert posts.shape[:2] == (3, len(TGT))
    for layer in range(3):
        assert torch.equal(posts[layer], acts[tc.site("resid_post", layer=layer, attention="decoder")])
        cross = acts.stack("pattern", attention="cross")[layer]
        assert torch.equal(cross, acts[f"decoder.blocks.{layer}.cross_attn.hook_pattern"])
    with pytest.raises(SiteError, match="specify the attention"):
        acts.stack("resid_post")


@pytest.mark.parametrize(
    "typo, near",
    [
        ("decoder.blocks.0.cross_attn.hook_patern", PATTERN),
        ("decoder.blocks.0.crossattn.hook_pattern", PATTERN),
        ("hook_logit", "hook_logits"),
        ("*.hook_patern", "encoder.blocks.0.self_attn.hook_pattern"),
        ("*.hook_attn_score", "encoder.blocks.0.self_attn.hook_attn_scores"),
    ],
)
def test_an_unknown_site_is_an_error_that_names_the_nearest_first(model: tc.Transformer, typo: str, near: str):
    with pytest.raises(SiteError) as error, tc.capture(model, "hook_logits", typo):
        pass
    message = str(error.value)
    assert message.startswith(f"the model has no site {typo!r}; the nearest are ")
    assert message.split("the nearest are ")[1].split(", ")[0] == near


def test_a_site_that_was_not_captured_says_which_were(model: tc.Transformer):
    with tc.capture(model, "hook_logits") as acts:
        with pytest.raises(KeyError, match="'hook_logits' was not captured; captured are: none yet"):
            acts["hook_logits"]
        model(SRC, TGT)
    with pytest.raises(KeyError, match="'hook_z' was not captured; captured are: hook_logits"):
        acts["hook_z"]


def test_of_several_forwards_the_last_and_none_after_the_context(model: tc.Transformer):
    with tc.capture(model, PATTERN) as acts:
        model(SRC[:1], TGT[:1])
        first = acts[PATTERN]
        model(SRC, TGT)
        assert acts[PATTERN].shape[0] == 2 and first.shape[0] == 1
        kept = acts[PATTERN]
    model(SRC[1:], TGT[1:])
    assert acts[PATTERN] is kept


def run_captured(model: tc.Transformer, src: Tensor = SRC, tgt: Tensor = TGT) -> Tensor:
    with tc.capture(model, PATTERN) as acts:
        model(src, tgt)
    return acts[PATTERN]


def test_a_copy_of_a_model_is_another_model(model: tc.Transformer):
    with tc.capture(model, PATTERN) as acts:
        twin = copy.deepcopy(model)
        twin(SRC, TGT)
        assert not acts
        model(SRC, TGT)
    assert torch.equal(twin(SRC, TGT), model(SRC, TGT))
    assert torch.equal(run_captured(twin), run_captured(model))


def test_a_run_without_hooks_has_the_same_bits_before_and_after(model: tc.Transformer):
    before = model(SRC, TGT)
    with tc.capture(model, "*"):
        model(SRC, TGT)
    assert torch.equal(model(SRC, TGT), before)
    with pytest.raises(ZeroDivisionError), tc.capture(model, "*"):
        model(SRC, TGT)
        raise ZeroDivisionError
    assert torch.equal(model(SRC, TGT), before)


def test_nothing_is_registered_on_the_model(model: tc.Transformer):
    def attributes() -> dict[str, dict[str, object]]:
        return {name: dict(vars(module)) for name, module in model.named_modules()}

    before = attributes()
    with tc.capture(model, "*"):
        model(SRC, TGT)
        assert attributes() == before
    assert attributes() == before
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    assert not any(vars(module)[kind] for module in model.modules() for kind in hooks)


def test_activations_are_detached_unless_asked(model: tc.Transformer):
    with torch.enable_grad():
        with tc.capture(model, PATTERN) as cut, tc.capture(model, PATTERN, detach=False) as joined:
            logits = model(SRC, TGT)
        assert not cut[PATTERN].requires_grad and torch.equal(cut[PATTERN], joined[PATTERN])
        (gradient,) = torch.autograd.grad(logits.square().sum(), joined[PATTERN])
    assert gradient.shape == joined[PATTERN].shape and gradient.abs().sum() > 0


@pytest.mark.parametrize("positions", ["sinusoidal_interleaved", "learned"])
def test_writing_on_an_activation_leaves_the_model_as_it_is(positions: str):
    """An activation is the looker's own: a cached model is shared by everybody."""
    model = shaken_model(small_config(positions=positions))
    before = model(SRC[:1], TGT[:1])
    with tc.capture(model, "*") as acts:
        model(SRC[:1], TGT[:1])
    for value in acts.values():
        value.zero_()
    assert torch.equal(model(SRC[:1], TGT[:1]), before)
