"""Lazy patterns: any part equals that of the pattern that a plain capture keeps."""

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad

import transformer_core as tc
from tests.model.building import (
    DECODER,
    VARIATIONS,
    odd_config,
    random_tokens,
    shaken_model,
    small_config,
    varied_model,
)
from transformer_core.decoding.cache import KeyValueCache
from transformer_core.errors import ConfigError, SiteError
from transformer_core.instrument import lazy

pytestmark = pytest.mark.usefixtures("without_gradients")


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows are computed at a time, so that these small patterns have several chunks."""
    monkeypatch.setattr(lazy, "_CHUNK_BYTES", 400)


def texts_for(model: tc.Transformer) -> tuple[Tensor, ...]:
    """Padded texts, one of them padding only where it is a source; a source and a target where there are two stacks."""
    src, tgt = random_tokens([7, 11, 0], vocab_size=13), random_tokens([9, 2, 5], vocab_size=13, seed=1)
    return (src, tgt) if model.config.architecture == "encoder_decoder" else (tgt,)


def both_ways(model: tc.Transformer, *texts: Tensor) -> tuple[tc.Activations, dict[str, tc.LazyPattern]]:
    """Every pattern and mask, and every lazy pattern, of one text."""
    with tc.capture(model, "*.hook_pattern", "*.hook_mask", "*.hook_attn_scores") as acts:
        model(*texts)
    with tc.capture(model, lazy=True) as lazily:
        model(*texts)
    return acts, lazily.patterns


def assert_near(one: Tensor, other: Tensor) -> None:
    """Both are the same but for rounding, of which sums of larger numbers have more (float32: 1.2e-7 of each)."""
    largest = other[other.isfinite()].abs().max() if other.isfinite().any() else 0.0
    torch.testing.assert_close(one.double(), other.double(), rtol=0, atol=1e-6 * max(1.0, float(largest)))


@pytest.mark.parametrize("variation", [*VARIATIONS, "rounded"])
def test_every_part_is_that_of_the_pattern(variation: str):
    rounded = DECODER | {"positions": "alibi", "alibi_rounding": True, "n_heads": 12}
    model = shaken_model(odd_config(**rounded)) if variation == "rounded" else varied_model(variation)
    model = model.double()
    acts, patterns = both_ways(model, *texts_for(model))
    output = model(*texts_for(model))
    with tc.capture(model, lazy=True, overview=(3, 2)) as pooled:
        assert_near(model(*texts_for(model)), output)
    assert patterns.keys() == pooled.keys() == {site for site in acts if site.endswith("hook_pattern")}
    for site, pattern in patterns.items():
        full = acts[site]
        mask = acts[site.replace("hook_pattern", "hook_mask")].expand_as(full)
        scores = acts[site.replace("hook_pattern", "hook_attn_scores")]
        assert pattern.shape == full.shape
        assert_near(pattern.full(), full)
        for batch in (1, 2):
            for head in range(full.shape[1]):
                assert_near(pattern.head(head, batch), full[batch, head])
                window = slice(1, 4), slice(2, -1)
                assert_near(pattern.window(head, *window, batch), full[batch, head][window])
                assert_near(pattern.scores_window(head, *window, batch), scores[batch, head][window])
                assert torch.equal(pattern.mask_window(head, *window, batch), mask[batch, head][window])
                assert torch.equal(pattern.mask_window(head, batch=batch), mask[batch, head])
            assert_near(pattern.pooled((3, 2), batch=batch), pooled_by_hand(full[batch], (3, 2), "max"))
            assert_near(pooled.patterns[site].pooled((3, 2), batch=batch), pattern.pooled((3, 2), batch=batch))
            assert_near(pattern.pooled((2, 4), "mean", batch=batch), pooled_by_hand(full[batch], (2, 4), "mean"))


def pooled_by_hand(pattern: Tensor, size: tuple[int, int], reduce: str) -> Tensor:
    """Block by block."""
    heads, n_queries, n_keys = pattern.shape
    rows, columns = min(size[0], n_queries), min(size[1], n_keys)
    pooled = torch.zeros(heads, rows, columns)
    for i in range(rows):
        for j in range(columns):
            queries = range(math.floor(i * n_queries / rows), math.floor((i + 1) * n_queries / rows))
            keys = range(math.floor(j * n_keys / columns), math.floor((j + 1) * n_keys / columns))
            block = torch.stack([pattern[:, query, key] for query in queries for key in keys])
            pooled[:, i, j] = block.max(dim=0).values if reduce == "max" else block.sum(dim=0) / len(block)
    return pooled


@pytest.fixture(scope="module")
def decoder() -> tc.Transformer:
    return shaken_model(small_config(**DECODER, n_heads=3, max_seq_len=32))


@pytest.mark.parametrize("n_bytes", [1, 3 * 23 * 4 * 5, 1 << 20], ids=["row by row", "five rows", "at once"])
def test_however_much_is_computed_at_a_time(decoder: tc.Transformer, n_bytes: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lazy, "_CHUNK_BYTES", n_bytes)
    acts, patterns = both_ways(decoder, random_tokens([23], vocab_size=13))
    for site, pattern in patterns.items():
        assert_near(pattern.full(), acts[site])
        assert_near(pattern.window(2, slice(3, 20), slice(2, 9)), acts[site][0, 2, 3:20, 2:9])
        for size in ((1, 1), (4, 7), (23, 2)):
            assert_near(pattern.pooled(size), pooled_by_hand(acts[site][0], size, "max"))
            assert_near(pattern.pooled(size, "mean", heads=[1]), pooled_by_hand(acts[site][0, [1]], size, "mean"))


@pytest.mark.parametrize(
    "queries", [slice(None), slice(3, 3), slice(5, 2), slice(-4, None), slice(30, 99), slice(0, 99)]
)
@pytest.mark.parametrize("keys", [slice(None), slice(20, 23), slice(0, 1)])
def test_windows_are_cut_as_slices_are(decoder: tc.Transformer, queries: slice, keys: slice):
    acts, patterns = both_ways(decoder, random_tokens([23], vocab_size=13))
    site = "decoder.blocks.0.self_attn.hook_pattern"
    assert_near(patterns[site].window(1, queries, keys), acts[site][0, 1, queries, keys])
    assert patterns[site].mask_window(1, queries, keys).shape == acts[site][0, 1, queries, keys].shape


def test_a_decoding_step_with_a_cache(decoder: tc.Transformer):
    """One query, and all the keys so far; in a model with a memory the source's too."""
    for model, tokens in (
        (decoder, random_tokens([4, 6], vocab_size=13)),
        (shaken_model(small_config(positions="alibi")), random_tokens([7, 4], vocab_size=13)),
    ):
        with tc.capture(model, "*.hook_pattern") as acts:
            tc.greedy_decode(model, tokens, max_new_tokens=5)
        with tc.capture(model, lazy=True) as lazily:
            tc.greedy_decode(model, tokens, max_new_tokens=5)
        for site, pattern in lazily.patterns.items():
            assert pattern.shape == acts[site].shape and pattern.shape[2] == (1 if "decoder" in site else 7)
            assert_near(pattern.full(), acts[site])
            assert_near(pattern.pooled((8, 3), "mean", batch=1), pooled_by_hand(acts[site][1], (8, 3), "mean"))


def test_what_a_cache_does_later_changes_nothing(decoder: tc.Transformer):
    tokens, cache = random_tokens([6, 6], vocab_size=13), KeyValueCache(1)
    with tc.capture(decoder, lazy=True) as lazily:
        decoder.decode(tokens, store=cache)
    (pattern,) = lazily.patterns.values()
    before = pattern.full()
    cache.reorder(torch.tensor([1, 1]))
    decoder.decode(tokens[:, :3], store=cache)
    assert torch.equal(pattern.full(), before)


def test_what_is_trained_later_changes_nothing():
    model = shaken_model(small_config(positions="relative_buckets"))
    with tc.capture(model, lazy=True) as lazily:
        model(*texts_for(model))
    before = [pattern.full() for pattern in lazily.patterns.values()]
    for parameter in model.parameters():
        parameter.add_(1.0)
    for pattern, full in zip(lazily.patterns.values(), before, strict=True):
        assert torch.equal(pattern.full(), full)


@pytest.mark.parametrize("stem", ["hook_q", "hook_k", "hook_mask", "hook_attn_scores", "hook_pattern"])
@pytest.mark.parametrize("is_outside", [True, False], ids=["outside", "inside"])
def test_an_edited_pattern_is_what_lazy_gives(stem: str, is_outside: bool):
    """The one that the values are weighted by, wherever the edit was made and in whichever order."""
    model = shaken_model(small_config(n_heads=3))
    texts = texts_for(model)
    edit = tc.edit_mask(forbid=[(1, None, 0)]) if stem == "hook_mask" else tc.zero(heads=[1])
    edits = {f"*.{stem}": edit}
    with tc.intervene(model, edits), tc.capture(model, "*.hook_pattern", "*.hook_mask", "*.hook_z") as acts:
        model(*texts)
    if is_outside:
        with tc.intervene(model, edits), tc.capture(model, lazy=True) as lazily:
            model(*texts)
    else:
        with tc.capture(model, lazy=True) as lazily, tc.intervene(model, edits):
            model(*texts)
    unedited, _ = both_ways(model, *texts)
    for site, pattern in lazily.patterns.items():
        assert_near(pattern.full(), acts[site])
        assert not torch.allclose(pattern.full(), unedited[site])
        mask = acts[site.replace("hook_pattern", "hook_mask")].expand_as(acts[site])
        assert torch.equal(pattern.mask_window(1, batch=2), mask[2, 1])
        assert_near(pattern.pooled((2, 3), batch=1), pooled_by_hand(acts[site][1], (2, 3), "max"))


def test_no_site_means_the_patterns_and_others_are_tensors(decoder: tc.Transformer):
    tokens = random_tokens([5], vocab_size=13)
    site = "decoder.blocks.0.self_attn.hook_pattern"
    with tc.capture(decoder, lazy=True) as acts:
        decoder(tokens)
    assert list(acts) == list(acts.patterns) == [site]
    with tc.capture(decoder, "*.hook_pattern", "*.hook_resid_post", lazy=True) as acts:
        decoder(tokens)
    assert set(acts) == {site, "decoder.blocks.0.hook_resid_post"} and set(acts.patterns) == {site}
    assert acts[site] is acts.patterns[site] and isinstance(acts["decoder.blocks.0.hook_resid_post"], Tensor)
    with pytest.raises(SiteError, match="no site"), tc.capture(decoder, "*.hook_patern", lazy=True):
        pass
    with pytest.raises(KeyError, match="captured are"):
        acts["hook_logits"]


def test_unwatched_it_stays(decoder: tc.Transformer):
    """A lazy capture alone leaves the fused kernel on, so the logits have the same bits."""
    tokens = random_tokens([9], vocab_size=13)
    unwatched = decoder(tokens)
    with tc.capture(decoder, lazy=True):
        assert torch.equal(decoder(tokens), unwatched)
        assert torch.equal(decoder.final_states(tokens) @ decoder.unembed.weight.T, unwatched)


def test_overviews_while_the_model_runs_are_not_computed_again(
    decoder: tc.Transformer, monkeypatch: pytest.MonkeyPatch
):
    tokens = random_tokens([9], vocab_size=13)
    with torch.no_grad(), tc.capture(decoder, lazy=True, overview=(4, 4)) as acts:
        decoder(tokens)
    (pattern,) = acts.patterns.values()
    pattern.pooled((4, 4)).zero_()
    monkeypatch.setattr(lazy, "attention_pattern", None)
    assert pattern.pooled((4, 4)).any()
    with pytest.raises(TypeError):
        pattern.pooled((4, 3))
    with pytest.raises(SiteError, match="no text 1"):
        pattern.pooled((4, 4), batch=1)


@pytest.mark.parametrize("part", ["q.weight", "k.weight", "v.weight"])
def test_overviews_while_the_model_runs_leave_gradients_alone(part: str):
    """Also where nothing else than one projection is trained."""
    model, tokens = shaken_model(small_config(**DECODER)), random_tokens([9], vocab_size=13)
    weight = model.requires_grad_(False).get_parameter(f"decoder.blocks.0.self_attn.{part}").requires_grad_()
    with torch.enable_grad():
        (expected,) = torch.autograd.grad(model(tokens).square().sum(), weight)
        with tc.capture(model, lazy=True, overview=(4, 4)) as acts:
            (gradient,) = torch.autograd.grad(model(tokens).square().sum(), weight)
    assert torch.equal(gradient, expected)
    (pattern,) = acts.patterns.values()
    assert_near(pattern.pooled((4, 4)), pooled_by_hand(pattern.full()[0], (4, 4), "max"))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_overviews_while_the_model_runs_leave_forward_derivatives_alone():
    model = shaken_model(small_config(**DECODER, score_cap=2.0))  # capped, as the fused kernel has no such derivatives
    tokens, name = random_tokens([9], vocab_size=13), "decoder.blocks.0.self_attn.q.weight"
    weight = model.get_parameter(name)

    def along_the_weight() -> Tensor:
        output = torch.func.functional_call(model, {name: forward_ad.make_dual(weight, weight)}, tokens)
        return forward_ad.unpack_dual(output).tangent

    with forward_ad.dual_level():
        expected = along_the_weight()
        with tc.capture(model, lazy=True, overview=(4, 4)):
            assert torch.equal(along_the_weight(), expected) and expected.any()


def test_overviews_while_the_model_runs_do_not_hide_nan(decoder: tc.Transformer, monkeypatch: pytest.MonkeyPatch):
    """A value that the mask hides from most queries makes them all NaN, as 0 * NaN is NaN."""
    monkeypatch.setattr(lazy, "_CHUNK_BYTES", 1)
    tokens = random_tokens([9], vocab_size=13)
    with tc.intervene(decoder, {"*.hook_v": tc.replace(torch.tensor(math.nan), positions=[8])}):
        expected = decoder(tokens)
        with tc.capture(decoder, lazy=True, overview=(4, 4)):
            assert decoder(tokens).isnan().all() and expected.isnan().all()


def test_an_overview_needs_lazy_patterns_and_a_size(decoder: tc.Transformer):
    with pytest.raises(ConfigError, match="set lazy=True"), tc.capture(decoder, overview=(4, 4)):  # type: ignore[call-overload]
        pass
    with (
        torch.no_grad(),
        pytest.raises(ConfigError, match="got 0 x 4"),
        tc.capture(decoder, lazy=True, overview=(0, 4)),
    ):
        decoder(random_tokens([9], vocab_size=13))


def test_it_is_detached_unless_asked(decoder: tc.Transformer):
    tokens = random_tokens([6], vocab_size=13)
    site = "decoder.blocks.0.self_attn.hook_pattern"
    with torch.enable_grad():
        with tc.capture(decoder, lazy=True) as cut:
            decoder(tokens)
        with tc.capture(decoder, lazy=True, detach=False) as joined:
            decoder(tokens)
        with tc.capture(decoder, site, detach=False) as eager:
            decoder(tokens)
        assert not cut.patterns[site].full().requires_grad
        weight = decoder.get_parameter("decoder.blocks.0.self_attn.q.weight")
        (gradient,) = torch.autograd.grad(joined.patterns[site].full().square().sum(), weight)
        (expected,) = torch.autograd.grad(eager[site].square().sum(), weight)
    torch.testing.assert_close(gradient, expected)


def test_what_is_not_there_is_an_error_that_says_so(decoder: tc.Transformer):
    _, patterns = both_ways(decoder, random_tokens([5], vocab_size=13))
    (pattern,) = patterns.values()
    for call in (
        lambda: pattern.head(3),
        lambda: pattern.window(3),
        lambda: pattern.mask_window(3),
        lambda: pattern.pooled(heads=[0, 3]),
    ):
        with pytest.raises(SiteError, match="there is no head 3 in this pattern of 3; the last is 2"):
            call()
    with pytest.raises(SiteError, match="there is no text 1 in this pattern of 1; the last is 0"):
        pattern.pooled(batch=1)
    with pytest.raises(SiteError, match="no head -1"):
        pattern.head(-1)
    with pytest.raises(ConfigError, match="must have step 1, got 2"):
        pattern.window(0, slice(0, 4, 2))
    with pytest.raises(ConfigError, match="column; got 0 x 4"):
        pattern.pooled((0, 4))
