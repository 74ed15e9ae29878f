"""The rules of masks, cell by cell, and where they are put."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.analysis.masks.presets import PRESETS, MaskKind
from headlight.analysis.masks.rules import MaskChoice, MaskRule
from tests.model.building import odd_config
from transformer_core.instrument.sites import Site


def allowed(kind: MaskKind, query: int, key: int, *, own: bool, size: int, looks_back: bool, n_real: int) -> bool:
    """What a rule says of one cell, in words of Python."""
    past, real = key <= query, key < n_real
    within = not looks_back or past
    return {
        "own": own,
        "flipped": not own,
        "padding": real,
        "look_ahead": past,
        "padding_look_ahead": past and real,
        "window": abs(query - key) < size and real and within,
        "prefix": (past or key < size) and real,
        "block": query // size == key // size and real and within,
        "none": True,
    }[kind]


@pytest.mark.parametrize("kind", sorted({preset.kind for preset in PRESETS.values()}))
@settings(max_examples=25)
@given(
    shape=st.tuples(st.integers(1, 6), st.integers(1, 7)),
    size=st.integers(1, 8),
    looks_back=st.booleans(),
    n_real=st.integers(0, 7),
    first=st.integers(0, 3),
    turned=st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=9),
    seed=st.integers(0, 99),
)
def test_a_rule_cell_by_cell(
    kind: MaskKind,
    shape: tuple[int, int],
    size: int,
    looks_back: bool,
    n_real: int,
    first: int,
    turned: set[tuple[int, int]],
    seed: int,
):
    own = torch.rand(2, 1, *shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    rule = MaskRule(kind=kind, size=size, looks_back=looks_back, n_real=n_real, turned=tuple(turned))
    mask = rule(own, Site(name="hook_mask", first=first))
    assert mask.shape == own.shape and mask.dtype == torch.bool
    for text in range(2):
        for row in range(shape[0]):
            for key in range(shape[1]):
                query = row + first
                cell = bool(own[text, 0, row, key])
                says = allowed(kind, query, key, own=cell, size=size, looks_back=looks_back, n_real=n_real)
                assert bool(mask[text, 0, row, key]) == (says != ((query, key) in turned))


def test_what_is_not_changed_is_left_alone():
    config = odd_config()
    assert MaskChoice(attention="cross").interventions(config, n_source=None, n_target=None) == {}
    chosen = MaskChoice(preset="window", size=2, attention="encoder")
    sites = chosen.interventions(config, n_source=3, n_target=None)
    assert set(sites) == {f"encoder.blocks.{layer}.self_attn.hook_mask" for layer in range(2)}
    assert all(rule == MaskRule(kind="window", size=2, n_real=3) for rule in sites.values())


def test_one_layer_alone_and_a_mistake_of_two_attentions():
    config = odd_config()
    alone = MaskChoice(preset="none", attention="decoder", layer=1)
    assert [*alone.interventions(config, n_source=None, n_target=None)] == ["decoder.blocks.1.self_attn.hook_mask"]
    both = MaskChoice(preset="cross", attention="encoder").interventions(config, n_source=5, n_target=4)
    assert {site: rule.kind for site, rule in both.items()} == {
        f"decoder.blocks.{layer}.{part}.hook_mask": kind
        for layer in range(2)
        for part, kind in (("self_attn", "padding"), ("cross_attn", "padding_look_ahead"))
    }
    assert both["decoder.blocks.0.cross_attn.hook_mask"].n_real == 5
    assert both["decoder.blocks.0.self_attn.hook_mask"].n_real == 4
