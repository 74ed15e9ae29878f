"""Ready interventions, against models whose weights or texts were changed so that the same must come out."""

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import DECODER, ENCODER, random_tokens, shaken_model, small_config
from transformer_core.errors import InterventionError

pytestmark = pytest.mark.usefixtures("without_gradients")
ATTN = "decoder.blocks.0.self_attn"
PATTERN = f"{ATTN}.hook_pattern"
ZEROS = {f"{ATTN}.hook_z": torch.zeros(1, 3, 4, 2)}
TEXTS, OTHER = random_tokens([9, 9], vocab_size=13), random_tokens([9], vocab_size=13, seed=5)


@pytest.fixture(scope="module")
def model() -> tc.Transformer:
    """A decoder of 3 heads of width 2."""
    return shaken_model(small_config(**DECODER, n_heads=3, n_decoder_layers=2))


def logits_with(model: tc.Transformer, interventions: dict[str, Any], tokens: Tensor = TEXTS) -> Tensor:
    with tc.intervene(model, interventions):
        return model(tokens)


def acts_of(model: tc.Transformer, tokens: Tensor = TEXTS) -> tc.Activations:
    with tc.capture(model, "*") as acts:
        model(tokens)
    return acts


def plain(model: tc.Transformer, site: str) -> Tensor:
    """What the site holds where it alone is watched, so that the other steps are taken as beside an intervention."""
    with tc.capture(model, site) as acts:
        model(TEXTS)
    return acts[site]


def acts_with(model: tc.Transformer, site: str, intervention: Any, tokens: Tensor = TEXTS) -> Tensor:
    """Return the value of a site after an intervention."""
    with tc.intervene(model, {site: intervention}), tc.capture(model, site) as acts:
        model(tokens)
    return acts[site]


def assert_near(one: Tensor, other: Tensor) -> None:
    """Up to float32's rounding, which is another on each kind of processor; what a test changes is 100 times more."""
    torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("stem", ["hook_z", "hook_result", "hook_pattern", "hook_v"])
@pytest.mark.parametrize("heads", [[1], [2, 0]])
def test_zeroed_heads_are_those_whose_columns_of_the_output_matrix_are_0(
    model: tc.Transformer, stem: str, heads: list[int]
):
    without = copy.deepcopy(model)
    for head in heads:
        without.get_parameter(f"{ATTN}.out.weight")[:, 2 * head : 2 * head + 2] = 0
    expected = without(TEXTS)
    assert_near(logits_with(model, {f"{ATTN}.{stem}": tc.zero_heads(heads)}), expected)
    assert_near(logits_with(model, {f"{ATTN}.{stem}": tc.zero(heads=heads)}), expected)
    assert (expected - model(TEXTS)).abs().max() > 1e-3


def test_a_head_s_mean_is_a_bias_in_its_place(model: tc.Transformer):
    """The mean of a capture is one vector, and what the output matrix makes of it is added everywhere."""
    z = acts_of(model, OTHER)[f"{ATTN}.hook_z"]
    averaged = copy.deepcopy(model)
    columns = averaged.get_parameter(f"{ATTN}.out.weight")[:, 2:4]
    averaged.get_parameter(f"{ATTN}.out.bias").add_(columns @ z[0, 1].sum(dim=0) / 9)
    columns.zero_()
    with_mean = logits_with(model, {f"{ATTN}.hook_z": tc.average(acts_of(model, OTHER), heads=[1])})
    assert_near(with_mean, averaged(TEXTS))


def test_without_a_capture_the_mean_is_that_of_each_text(model: tc.Transformer):
    z = acts_of(model)[f"{ATTN}.hook_z"]
    averaged = acts_with(model, f"{ATTN}.hook_z", tc.average(heads=[0, 2], positions=[0, 5]))
    for text in range(2):
        for head in range(3):
            for position in range(9):
                is_averaged = head != 1 and position in (0, 5)
                expected = z[text, head].mean(dim=0) if is_averaged else z[text, head, position]
                assert_near(averaged[text, head, position], expected)


def test_means_of_patterns_are_over_texts(model: tc.Transformer):
    pattern = acts_of(model)[f"{ATTN}.hook_pattern"]
    averaged = acts_with(model, f"{ATTN}.hook_pattern", tc.average(acts_of(model), heads=[1]))
    assert_near(averaged[0, 1], (pattern[0, 1] + pattern[1, 1]) / 2)
    assert torch.equal(averaged[:, [0, 2]], pattern[:, [0, 2]])


@pytest.mark.parametrize("value", [0.25, torch.tensor([0.5, -1.0]), torch.randn(9, 2), torch.randn(2, 3, 9, 2)])
def test_replaced_heads_hold_the_value(model: tc.Transformer, value: float | Tensor):
    z = plain(model, f"{ATTN}.hook_z")
    replaced = acts_with(model, f"{ATTN}.hook_z", tc.replace(value, heads=[2]))
    expected = torch.as_tensor(value).expand(2, 3, 9, 2)
    assert torch.equal(replaced[:, 2], expected[:, 2])
    assert torch.equal(replaced[:, :2], z[:, :2])


def test_heads_of_keys_and_values_are_the_site_s_own():
    """Where four heads of queries share two of keys, head 1 of the values serves heads 2 and 3."""
    model = shaken_model(small_config(**DECODER, d_model=24, n_heads=4, n_kv_heads=2))
    shared = logits_with(model, {f"{ATTN}.hook_v": tc.zero_heads([1])})
    assert_near(shared, logits_with(model, {f"{ATTN}.hook_z": tc.zero_heads([2, 3])}))
    with pytest.raises(InterventionError, match=rf"no head 2 at {ATTN}.hook_v, which has 2; the last is 1"):
        logits_with(model, {f"{ATTN}.hook_v": tc.zero_heads([2])})


def test_heads_and_positions_together(model: tc.Transformer):
    z = plain(model, f"{ATTN}.hook_z")
    zeroed = acts_with(model, f"{ATTN}.hook_z", tc.zero(heads=[1, 2], positions=[0, 3]))
    for head in range(3):
        for position in range(9):
            is_zero = head > 0 and position in (0, 3)
            assert torch.equal(zeroed[:, head, position], z[:, head, position] * (not is_zero))


def test_nothing_named_is_nothing_and_no_name_is_all(model: tc.Transformer):
    for site in (f"{ATTN}.hook_z", PATTERN):
        for nothing in (tc.zero(heads=[]), tc.zero(positions=[]), *([tc.zero(cells=[])] if site == PATTERN else [])):
            assert torch.equal(acts_with(model, site, nothing), plain(model, site))
        assert not acts_with(model, site, tc.zero()).any()


def test_patched_positions_are_those_of_a_mixed_text(model: tc.Transformer):
    mixed = TEXTS.clone()
    mixed[:, [2, 6]] = OTHER[:, [2, 6]]
    embeddings = {"decoder.hook_embed": tc.patch(acts_of(model, OTHER), positions=[2, 6])}
    assert_near(logits_with(model, embeddings), model(mixed))


def test_a_longer_run_lends_its_first_positions(model: tc.Transformer):
    """A decoder's positions do not depend on later ones."""
    short = TEXTS[:, :6]
    embeddings = {"decoder.hook_embed": tc.patch(acts_of(model, OTHER))}
    assert_near(logits_with(model, embeddings, short), model(OTHER[:, :6]).expand(2, -1, -1))
    for stem in ("hook_pattern", "hook_attn_scores", "hook_mask"):
        whole = acts_of(model, OTHER)
        patched = acts_with(model, f"{ATTN}.{stem}", tc.patch(whole), short)
        assert torch.equal(patched, whole[f"{ATTN}.{stem}"][..., :6, :6].expand_as(patched))


def test_what_a_shorter_run_lacks_is_an_error_where_it_is_asked_for(model: tc.Transformer):
    short = acts_of(model, OTHER[:, :6])
    with pytest.raises(InterventionError, match="has 6 positions, so there is no position 6; specify positions"):
        logits_with(model, {"decoder.hook_embed": tc.patch(short)})
    with pytest.raises(InterventionError, match="has 6 positions, so there is no position 7"):
        logits_with(model, {"decoder.hook_embed": tc.patch(short, positions=[2, 7, 8])})


def test_a_longer_run_that_attends_to_later_keys_does_not_fit():
    model = shaken_model(small_config(**ENCODER))
    site = "encoder.blocks.0.self_attn.hook_pattern"
    with pytest.raises(InterventionError, match="attends to keys beyond the 6 of this text"):
        logits_with(model, {site: tc.patch(acts_of(model, OTHER))}, TEXTS[:, :6])


def test_resampled_positions_come_from_the_other_text(model: tc.Transformer):
    site = f"{ATTN}.hook_z"
    for other in (OTHER, OTHER[:, :4]):
        z, own = acts_of(model, other)[site], plain(model, site)
        resampled = acts_with(
            model, site, tc.resample(acts_of(model, other), heads=[1], positions=[0, 1, 2, 3, 4, 5, 6])
        )
        assert torch.equal(resampled[:, [0, 2]], own[:, [0, 2]]) and torch.equal(resampled[:, 1, 7:], own[:, 1, 7:])
        for position in range(7):
            taken = [row for row in range(z.shape[2]) if torch.equal(resampled[0, 1, position], z[0, 1, row])]
            assert len(taken) == 1 and torch.equal(resampled[1, 1, position], z[0, 1, taken[0]])


def test_resampled_positions_with_a_counterpart_take_from_it_and_the_others_draw(model: tc.Transformer):
    site, other = f"{ATTN}.hook_z", acts_of(model, OTHER[:, :4])
    drawn, aligned = (acts_with(model, site, tc.resample(other, aligned=pairs)) for pairs in (None, {0: 3, 2: 2, 6: 0}))
    for position in range(9):
        row = {0: 3, 2: 2, 6: 0}.get(position)
        expected = drawn[:, :, position] if row is None else other[site][:, :, row].expand(2, -1, -1)
        assert torch.equal(aligned[:, :, position], expected)


def test_a_draw_depends_on_the_seed_and_the_position_alone(model: tc.Transformer):
    site, other = f"{ATTN}.hook_z", acts_of(model, OTHER)
    one = acts_with(model, site, tc.resample(other))
    assert torch.equal(one, acts_with(model, site, tc.resample(other)))
    assert torch.equal(one[:, :, :5], acts_with(model, site, tc.resample(other), TEXTS[:, :5]))
    assert not torch.equal(one, acts_with(model, site, tc.resample(other, seed=1)))


def edited(intervention: Any, rows: list[list[float]], name: str = PATTERN) -> list[list[float]]:
    """One head's pattern after an edit."""
    site = tc.Site(name=name, n_heads=1)
    return intervention(torch.tensor(rows)[None, None], site)[0, 0].tolist()


def test_cells_by_hand():
    rows = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]
    assert edited(tc.zero(cells=[(0, 2, 2)]), rows) == [*rows[:2], [0.25, 0.25, 0.0]]
    assert edited(tc.zero(cells=[(0, 2, 2)], renormalize=True), rows) == [*rows[:2], [0.5, 0.5, 0.0]]
    first_key = edited(tc.zero(cells=[(None, None, 0)], renormalize=True), rows)
    assert first_key == [[0, 0, 0], [0, 1, 0], pytest.approx([0, 1 / 3, 2 / 3])]
    assert edited(tc.replace(1.0, cells=[(0, 1, 0)], renormalize=True), rows) == [rows[0], [1.0, 0.0, 0.0], rows[2]]


def test_a_set_cell_keeps_its_number_and_the_others_share_what_is_left():
    rows = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.6, 0.2]]
    assert edited(tc.set_cells({(0, 2, 1): 0.2, (0, 2, 0): 0.3}), rows)[2] == pytest.approx([0.3, 0.2, 0.2])
    both = tc.set_cells({(0, 2, 1): 0.2, (0, 2, 0): 0.3}, renormalize=True)
    assert edited(both, rows) == [*rows[:2], pytest.approx([0.3, 0.2, 0.5])]
    later_counts = tc.set_cells({(None, 1, None): 0.1, (0, 1, 1): 0.7})
    assert edited(later_counts, rows)[1] == pytest.approx([0.1, 0.7, 0.1])
    nobody_shares = tc.set_cells({(0, 0, 0): 0.4}, renormalize=True)
    assert edited(nobody_shares, rows)[0] == [1.0, 0.0, 0.0]
    too_much = tc.set_cells({(0, 2, 0): 3.0, (0, 2, 1): 1.0}, renormalize=True)
    assert edited(too_much, rows)[2] == [0.75, 0.25, 0.0]
    all_of_it = tc.set_cells({(0, 2, None): 0.0}, renormalize=True)
    assert edited(all_of_it, rows)[2] == [0.0, 0.0, 0.0]


def test_renormalizing_after_the_softmax_is_knocking_out_before_it(model: tc.Transformer):
    """A softmax over fewer keys is the old one, restricted and divided by its sum."""
    edges = [(1, 5, 0), (1, 5, 2), (0, 8, 8), (None, 3, 1)]
    expected = acts_with(model, PATTERN, tc.zero(cells=edges, renormalize=True))
    for stem in ("hook_attn_scores", "hook_mask"):
        with tc.intervene(model, {f"{ATTN}.{stem}": tc.knock_out(edges)}), tc.capture(model, PATTERN) as acts:
            logits = model(TEXTS)
        assert_near(acts[PATTERN], expected)
        fused = logits_with(model, {f"{ATTN}.{stem}": tc.knock_out(edges)})
        assert_near(fused, logits)
        assert (fused - model(TEXTS)).abs().max() > 1e-4


@pytest.mark.parametrize("stem", ["hook_attn_scores", "hook_mask"])
def test_far_edges_knocked_out_are_a_sliding_window(model: tc.Transformer, stem: str):
    near = shaken_model(small_config(**DECODER, n_heads=3, n_decoder_layers=2, sliding_window=3))
    far = [(None, query, key) for query in range(9) for key in range(9) if query - key >= 3]
    assert_near(logits_with(model, {f"*.{stem}": tc.knock_out(far)}), near(TEXTS))
    mask = tc.edit_mask(forbid=far)
    assert_near(logits_with(model, {"*.hook_mask": mask}), near(TEXTS))


def test_an_opened_future_is_an_encoder_s(model: tc.Transformer):
    """The same weights without look-ahead."""
    both_ways = shaken_model(small_config(**ENCODER, n_heads=3, n_encoder_layers=2))
    weights = {name.replace("decoder.", "encoder."): value for name, value in model.state_dict().items()}
    both_ways.load_state_dict(weights)
    opened = logits_with(model, {"*.hook_mask": tc.edit_mask(allow=[(None, None, None)])})
    assert_near(opened, both_ways(TEXTS))
    future = [(None, query, key) for query in range(9) for key in range(query + 1, 9)]
    closed_again = tc.edit_mask(allow=[(None, None, None)], forbid=future)
    assert_near(logits_with(model, {"*.hook_mask": closed_again}), model(TEXTS))


def test_what_a_mask_forbids_stays_forbidden_in_the_scores(model: tc.Transformer):
    """Whatever is put there: nothing leaks from the future or from padding."""
    site = f"{ATTN}.hook_attn_scores"
    is_future = ~torch.ones(9, 9, dtype=torch.bool).tril()
    other = {site: torch.randn(1, 3, 9, 9)}
    for edit in (tc.zero(heads=[1]), tc.scale(-1.0), tc.replace(3.0), tc.patch(other), tc.set_cells({(0, 0, 8): 9.0})):
        scores = acts_with(model, site, edit)
        assert (scores[:, :, is_future] == -math.inf).all() and scores[:, :, ~is_future].isfinite().all()


@pytest.mark.parametrize(
    "stem, make, complaint",
    [
        ("hook_z", lambda: tc.zero_heads([0, 9]), "there is no head 9 at .*hook_z, which has 3; the last is 2"),
        ("hook_attn_out", lambda: tc.zero_heads([0]), "hook_attn_out has no heads; specify positions, or"),
        ("hook_z", lambda: tc.zero(cells=[(0, 0, 0)]), "hook_z has no cells .* hook_pattern, hook_attn_scores"),
        ("hook_z", lambda: tc.zero(heads=[0], renormalize=True), "renormalize only works .* sum to 1, .*leave"),
        ("hook_pattern", lambda: tc.knock_out([(0, 1, 0)]), "before the softmax, at hook_attn_scores or hook_mask"),
        ("hook_attn_scores", lambda: tc.edit_mask(forbid=[(0, 1, 0)]), "edit_mask only works at hook_mask, not at"),
        ("hook_pattern", lambda: tc.average(), "queries have different keys; capture the site on other texts"),
        ("hook_mask", lambda: tc.average(), "a mask has no mean; .* or use edit_mask"),
        ("hook_pattern", lambda: tc.resample({}), "depend on their own queries and keys; resample hook_z, or patch"),
        ("hook_z", lambda: tc.resample(ZEROS, aligned={0: 4}), "has 4 positions, so there is no position 4; specify"),
        ("hook_z", lambda: tc.patch({}), "do not include .*hook_z; capture it on the other text"),
        ("hook_z", lambda: tc.zero(heads=[-1]), "a head is a whole number, counted from 0; got -1"),
        ("hook_z", lambda: tc.knock_out([(0, -1, 0)]), "a query is a whole number"),
        ("hook_pattern", lambda: tc.zero(heads=[0], cells=[(0, 0, 0)]), "leave out heads and positions"),
        ("hook_z", lambda: tc.replace(torch.zeros(4)), r"has shape \(4,\), which does not match \(2, 3, 9, 2\)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_its_site_is_an_error_that_says_why(
    model: tc.Transformer, stem: str, make: Any, complaint: str
):
    with pytest.raises(InterventionError, match=complaint):
        logits_with(model, {f"{ATTN}.{stem}": make()})


def test_a_lazy_capture_will_do(model: tc.Transformer):
    with tc.capture(model, lazy=True) as lazily:
        model(OTHER)
    patched = acts_with(model, PATTERN, tc.patch(lazily))
    assert_near(patched, acts_of(model, OTHER)[PATTERN].expand(2, -1, -1, -1))


@pytest.mark.parametrize(
    "make, complaint",
    [
        (lambda: tc.zero(heads=[-1]), "a head is a whole number, counted from 0; got -1"),
        (lambda: tc.zero(positions=[-2]), "a position is a whole number, counted from 0; got -2"),
        (lambda: tc.knock_out([(0, -1, 0)]), "a query is a whole number"),
        (lambda: tc.knock_out([(0, 0, -1)]), "a key is a whole number"),
        (lambda: tc.zero(heads=[0], cells=[(0, 0, 0)]), "leave out heads and positions"),
        (lambda: tc.zero(positions=[0], cells=[(0, 0, 0)]), "leave out heads and positions"),
    ],
)
def test_what_makes_no_sense_anywhere_is_an_error_at_once(make: Any, complaint: str):
    with pytest.raises(InterventionError, match=complaint):
        make()
