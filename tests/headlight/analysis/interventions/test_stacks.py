"""Stacks as JSON: there and back, and what is no stack."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.analysis.interventions.records import InterventionStack, Patch
from headlight.analysis.interventions.stacks import from_json, to_json
from tests.headlight.analysis.interventions.test_records import ENTRIES, HEAD
from transformer_core.errors import ConfigError


def test_a_stack_comes_back_equal():
    stack = InterventionStack(entries=ENTRIES)
    assert from_json(to_json(stack)) == stack
    assert from_json(to_json(InterventionStack())) == InterventionStack()
    assert to_json(from_json(to_json(stack))) == to_json(stack)


def test_a_stack_that_fits_no_address_is_refused():
    long = Patch(component=HEAD, text="a" * 2000, direction="noising")
    with pytest.raises(ConfigError, match=r"takes 8,\d+ characters, and at most 8,000 fit; remove entries"):
        to_json(InterventionStack(entries=(long,) * 4))


@pytest.mark.parametrize(
    "stored, complaint",
    [
        ("", "it is not valid JSON; save it again"),
        ("[" * 5000, "it is not valid JSON"),
        ('"a"', "a list of at most 32 objects"),
        ("{}", "a list of at most 32 objects"),
        ("[1]", "a list of at most 32 objects"),
        (json.dumps([{}] * 33), "a list of at most 32 objects"),
        ("[{}]", "an intervention is of type ablation, patch, cells, tokens; got 'None'"),
        ('[{"type":["a"]}]', "an intervention is of type"),
        ('[{"type":"cells"}]', "CellEdit lacks attention, layer, operation; save the stack again"),
        ('[{"type":"cells","colour":1}]', "CellEdit has no field 'colour'"),
        ('[{"type":"ablation","component":{"kind":"head"}}]', "Component lacks attention, layer"),
        ('[{"type":"ablation","component":[1]}]', r"component must be a Component; got \(1,\)"),
        ('[{"type":"tokens","side":"source","positions":null,"tokens":[1]}]', "positions must be a list; got None"),
        ('[{"type":"tokens","side":{},"positions":[1],"tokens":[1]}]', "side must be one of source, target; got {}"),
        ('[{"type":"cells","attention":"cross","layer":0,"operation":"set","number":NaN}]', "set needs a number"),
        (
            '[{"type":"ablation","component":{"kind":"head","attention":"cross","layer":0},"method":"constant",'
            '"constant":"abc"}]',
            "the constant of an ablation is damaged",
        ),
        ("[" + " " * 9000 + "]", "a text of at most 8,000 characters"),
    ],
)  # fmt: skip
def test_what_is_no_stack_is_refused_in_one_sentence(stored: str, complaint: str):
    with pytest.raises(ConfigError, match=complaint) as caught:
        from_json(stored)
    assert "\n" not in str(caught.value)


NAMES = ["type", "component", "kind", "attention", "layer", "heads", "texts", "constant", "cells", "number"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
        max_leaves=30,
    )
)
def test_any_other_json_is_a_stack_or_a_config_error(values: Any):
    if isinstance(values, dict):
        values = [values | {"type": "ablation"}]
    with contextlib.suppress(ConfigError):
        assert isinstance(from_json(json.dumps(values)), InterventionStack)
