"""The controls of the page Heads: what they say of the view, what they offer, and what a choice changes."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.explore.heads import controls, view_fields
from pages.shared.view.fields import Field
from tests.pages.explore.heads.heads_parts import heads, shown
from tests.pages.explore.parts import shown as drawn
from transformer_core.analysis.heads.picture import HeadShare, ViewSpec

pytestmark = pytest.mark.usefixtures("checkpoints")
ONE, OTHER = HeadShare(layer=1, head=2), HeadShare(layer=0, head=3, weight=0.5)
WINDOW = ((1, 2), (0, 4))


def chosen(app: AppTest, field: Field) -> Any:
    return app.session_state[field.key]


def labels(**view: Any) -> list[str]:
    """What the two menus above the head are called."""
    return [str(block.proto.popover.label) for block in shown(controls.over_head, **view).get("popover")]


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ({"rest": "share"}, ["Tokens", "Combine heads"]),
        ({"unit": "word", "mix": (ONE, OTHER)}, ["Tokens (1)", "2 heads combined"]),
        ({"hide": "special+sinks", "mix": (ONE, OTHER), "mean": "layer"}, ["Tokens (1)", "Layer mean"]),
        ({"unit": "word", "hide": "sinks", "window": WINDOW, "mean": "all"}, ["Tokens (3)", "Mean of all heads"]),
    ],
)
def test_the_menus_say_what_is_not_as_usual(view: dict[str, Any], said: list[str]):
    assert labels(**view) == said


def test_heads_are_sorted_one_way_after_the_other():
    app = drawn(controls._order, **{view_fields.TINT.key: "entropy"})
    seen = []
    for _ in range(3):
        button = app.button(key="heads-order-next")
        assert not button.disabled
        button.click().run()
        seen.append(chosen(app, view_fields.ORDER))
    assert seen == ["descending", "ascending", ""]
    assert drawn(controls._order).button(key="heads-order-next").disabled, "no measure to sort by"


def test_attentions_are_chosen_only_where_there_are_several(three_kinds_here):
    def keys(**view: Any) -> set[str | None]:
        return {control.key for control in shown(controls.over_overview, **view).segmented_control}

    assert "heads-only-segments" in keys()
    gaps = {"model": "gaps", "text": "The cat sees the dog.", "attention": "encoder"}
    assert "heads-only-segments" not in keys(**gaps)


@pytest.mark.parametrize(("drawing", "has_quantity"), [("heatmap", True), ("lines", False)])
def test_lines_have_no_other_quantity(drawing: str, has_quantity: bool):
    app = shown(controls.over_head, **{"as": drawing})
    assert app.segmented_control(key="heads-as-segments").value == drawing
    assert ("heads-show-box" in {box.key for box in app.selectbox}) == has_quantity


def test_what_is_excluded_is_kept_in_one_order_and_the_rest_can_sum_to_one():
    app = shown(controls._tokens, hide="sinks")
    assert app.multiselect(key="heads-hide-box").value == ["sinks"]
    app.multiselect(key="heads-hide-box").set_value(["sinks", "special"]).run()
    assert chosen(app, view_fields.HIDDEN) == "special+sinks"
    toggle = app.toggle(key="heads-rest-box")
    assert not toggle.value
    toggle.set_value(True).run()
    assert chosen(app, view_fields.REST) == "share"
    app.toggle(key="heads-rest-box").set_value(False).run()
    assert chosen(app, view_fields.REST) == ""
    app.multiselect(key="heads-hide-box").set_value([]).run()
    assert chosen(app, view_fields.HIDDEN) == ""
    assert not app.toggle, "nothing is left out"


def test_the_ends_of_queries_and_of_keys_are_those_of_each():
    app = shown(controls._spans, attention="cross")
    queries, keys = (app.slider(key=f"heads-window-{name}") for name in ("Queries", "Keys"))
    assert (queries.min, queries.max, queries.value) == (0, 30, (0, 30))
    assert (keys.min, keys.max, keys.value) == (0, 6, (0, 6))
    assert not app.button
    keys.set_value((2, 5)).run()
    assert chosen(app, view_fields.WINDOW) == ((0, 30), (2, 5))
    app.slider(key="heads-window-Queries").set_value((3, 7)).run()
    assert chosen(app, view_fields.WINDOW) == ((3, 7), (2, 5))
    app.button(key="heads-whole").click().run()
    assert chosen(app, view_fields.WINDOW) is None
    app.slider(key="heads-window-Keys").set_value((0, 5)).run()
    assert chosen(app, view_fields.WINDOW) == ((0, 30), (0, 5))
    app.slider(key="heads-window-Keys").set_value((0, 6)).run()
    assert chosen(app, view_fields.WINDOW) is None, "all of both is the whole text"


def test_one_token_has_no_ends_to_choose_and_no_range_goes_beyond_the_text():
    class Maps:
        shape = (2, 3, 1, 2)

    spec = ViewSpec(heads=(ONE,))
    app = drawn(lambda: controls._spans(heads(run={"attention_maps": {"encoder": Maps}}, spec=spec)))
    assert [slider.key for slider in app.slider] == ["heads-window-Keys"]
    app = shown(controls._spans, window=((2, 50), (1, 40)))
    assert [slider.value for slider in app.slider] == [(2, 6), (1, 6)], "it ends with the text"


def test_heads_that_are_combined_have_weights():
    app = shown(controls._mix, mix=(OTHER, ONE))
    heads_of = app.multiselect(key="heads-mix-box")
    assert heads_of.label == "Heads of the encoder self-attention"
    assert heads_of.options == [f"L{layer}.H{head}" for layer in range(2) for head in range(4)]
    assert heads_of.value == ["0.3", "1.2"]
    sliders = {slider.key: slider.value for slider in app.slider}
    assert sliders == {"heads-mix-weight-0.3": 0.5, "heads-mix-weight-1.2": 1.0}
    assert app.slider(key="heads-mix-weight-0.3").label == "Weight of L0.H3"
    app.slider(key="heads-mix-weight-1.2").set_value(0.25).run()
    assert chosen(app, view_fields.MIX) == (OTHER, HeadShare(layer=1, head=2, weight=0.25))
    app.multiselect(key="heads-mix-box").set_value(["0.3", "1.2", "0.0"]).run()
    assert chosen(app, view_fields.MIX) == (
        OTHER,
        HeadShare(layer=1, head=2, weight=0.25),
        HeadShare(layer=0, head=0, weight=1.0),
    )


def test_one_head_alone_is_the_chosen_one_and_no_mixture():
    app = shown(controls._mix, mean="layer")
    assert app.multiselect(key="heads-mix-box").value == ["1.2"] and not app.slider
    app.multiselect(key="heads-mix-box").set_value(["0.3"]).run()
    assert chosen(app, view_fields.MIX) == () and chosen(app, view_fields.MEAN) == ""
    assert [app.session_state[part] for part in ("attention", "layer", "head")] == ["encoder", 0, 3]
    app = shown(controls._mix, mix=(OTHER, ONE), mean="all")
    app.multiselect(key="heads-mix-box").set_value([]).run()
    assert chosen(app, view_fields.MIX) == ()
    assert [app.session_state[part] for part in ("attention", "layer", "head")] == ["encoder", 1, 2], "as it was"
