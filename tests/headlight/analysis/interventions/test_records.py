"""Records of interventions: what they may hold, and that their repr gives them again."""

from dataclasses import replace
from typing import Any

import pytest

from headlight.analysis.interventions.records import Ablation, CellEdit, Component, InterventionStack, Patch, TokenSwap
from transformer_core.errors import ConfigError

HEAD = Component(kind="head", attention="cross", layer=1, heads=(2,))
ENTRIES = (
    Ablation(component=HEAD, texts=("It's “quoted”, isn't it?\n",), seed=3, name="name mover"),
    Ablation(component=replace(HEAD, positions=(0, 4)), method="mean", texts=("a", "b")),
    Ablation(component=Component(kind="resid_mid", attention="encoder", layer=0), method="zero", enabled=False),
    Ablation(component=HEAD, method="constant", constant=(0.1, -2.5e-8, 1 / 3)),
    Patch(component=HEAD, text="Élan", direction="denoising", continuation="same", seed=7),
    CellEdit(attention="decoder", layer=0, operation="set", number=0.5, cells=((4, None), (1, 0)), renormalize=True),
    CellEdit(attention="decoder", layer=0, operation="scale", number=2, heads=(0, 1)),
    CellEdit(attention="cross", layer=3, operation="knock_out", cells=((None, 2),)),
    CellEdit(attention="encoder", layer=3, operation="uniform", heads=(1,)),
    TokenSwap(side="target", positions=(3, 1), tokens=(17, 0)),
)


def test_the_repr_is_python_that_gives_an_equal_stack():
    stack = InterventionStack(entries=ENTRIES)
    assert eval(repr(stack)) == stack
    assert repr(ENTRIES[8]) == "CellEdit(attention='encoder', layer=3, operation='uniform', heads=(1,))"
    assert hash(stack) == hash(InterventionStack(entries=ENTRIES))


def test_lists_become_tuples_and_constants_float32():
    assert Component(kind="head", attention="cross", layer=0, heads=[1, 2]).heads == (1, 2)
    fitted = Ablation(component=HEAD, method="constant", constant=(0.1,))
    assert fitted.constant[0] != 0.1 and fitted.constant == replace(fitted).constant


def test_a_disabled_entry_is_none_of_those_that_act():
    stack = InterventionStack(entries=ENTRIES)
    assert len(stack.entries) - len(stack.enabled) == 1
    assert stack.texts == ("It's “quoted”, isn't it?\n", "a", "b", "Élan")


def component(**changes: Any) -> Component:
    values: dict[str, Any] = {"kind": "head", "attention": "cross", "layer": 0}
    return Component(**(values | changes))


def ablation(**changes: Any) -> Ablation:
    values: dict[str, Any] = {"component": HEAD, "method": "zero"}
    return Ablation(**(values | changes))


def edit(**changes: Any) -> CellEdit:
    values: dict[str, Any] = {"attention": "cross", "layer": 0, "operation": "knock_out"}
    return CellEdit(**(values | changes))


@pytest.mark.parametrize(
    "make, complaint",
    [
        (lambda: component(kind="mlp"), "kind must be one of head, query.*got 'mlp'"),
        (lambda: component(attention="middle"), "attention must be one of encoder, decoder, cross; got 'middle'"),
        (lambda: component(layer=-1), "layer must be a whole number of at least 0, got -1"),
        (lambda: component(layer=True), "layer must be a whole number"),
        (lambda: component(heads=(1.0,)), "heads are whole numbers from 0 on; got 1.0"),
        (lambda: component(heads=()), "heads is empty, so nothing would change"),
        (lambda: component(heads=3), "heads must be a list; got 3"),
        (lambda: component(positions=range(5000)), "positions has 5,000 items; at most 1,024 are possible"),
        (lambda: component(kind="attention", heads=(1,)), "the attention of a layer is not split by head"),
        (lambda: component(kind="feed_forward"), "the feed_forward belongs to a stack, not to cross-attention"),
        (lambda: ablation(component=3), "component must be a Component; got 3"),
        (lambda: ablation(method="resample"), "resample ablation takes its values from another text; name one"),
        (lambda: ablation(method="resample", texts=("a", "b")), "takes one other text, got 2"),
        (lambda: ablation(texts=("a",)), "zero ablation uses no other text; leave out texts"),
        (lambda: ablation(method="mean", texts=("",)), "a text to take values from must have 1 to 2,000 characters"),
        (lambda: ablation(method="mean", texts="abc"), "texts must be a list; got 'abc'"),
        (lambda: ablation(constant=(1.0,)), "belong together; give both or neither"),
        (lambda: ablation(corpus="en-fr"), "its name in corpus; give both or neither"),
        (lambda: ablation(method="mean", constant=(1.0,)), "its name in corpus; give both or neither"),
        (lambda: ablation(method="mean", constant=(1.0,), corpus="a", texts=("b",)), "leave out texts"),
        (lambda: ablation(method="constant"), "belong together; give both or neither"),
        (lambda: ablation(method="constant", constant=(float("nan"),)), "constant must be finite numbers"),
        (lambda: ablation(enabled=1), "enabled must be true or false, got 1"),
        (lambda: ablation(name="n" * 100), "the name of an intervention is a text of at most 80 characters"),
        (lambda: ablation(seed=-1), "seed must be a whole number from 0 to"),
        (lambda: ablation(component=component(kind="pattern"), method="mean", texts=("a",)), "can only be set to zero"),
        (lambda: Patch(component=HEAD, text="", direction="noising"), "a text to take values from"),
        (lambda: Patch(component=HEAD, text="a", direction="back"), "direction must be one of denoising, noising"),  # type: ignore[arg-type]
        (lambda: edit(operation="set"), "set needs a number; got None"),
        (lambda: edit(operation="set", number=1.5), "must be from 0 to 1; got 1.5"),
        (lambda: edit(operation="scale", number=-1), "must be from 0 to 1000; got -1.0"),
        (lambda: edit(number=0.5), "knock_out takes no number; leave it out"),
        (lambda: edit(renormalize=True), "acts before the softmax, which renormalises anyway"),
        (lambda: edit(operation="uniform", cells=((1, 1),)), "uniform makes a head's whole pattern uniform"),
        (lambda: edit(cells=((1,),)), r"a cell is \(query, key\), each a whole number from 0 on or None"),
        (lambda: edit(cells=((1, -2),)), "a cell is .query, key."),
        (lambda: edit(cells=()), "cells is empty"),
        (lambda: TokenSwap(side="source", positions=(1, 2), tokens=(3,)), "got 2 positions and 1 tokens"),
        (lambda: TokenSwap(side="source", positions=(1, 1), tokens=(3, 4)), "names a position twice"),
        (lambda: InterventionStack(entries=(HEAD,)), "a stack contains interventions; got Component"),  # type: ignore[arg-type]
        (lambda: InterventionStack(entries=(edit(),) * 33), "at most 32 interventions, and this one would have 33"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(make: Any, complaint: str):
    with pytest.raises(ConfigError, match=complaint) as caught:
        make()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
