"""The controls of the Heads page: what they say of the view, what they offer, and what a choice changes."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headlight.analysis.heads.picture import HeadShare
from pages.explore.heads import controls, view_fields
from pages.shared.view.fields import Field
from tests.pages.explore.heads.heads_parts import shown

pytestmark = pytest.mark.usefixtures("checkpoints")
ONE, OTHER = HeadShare(layer=1, head=2), HeadShare(layer=0, head=3, weight=0.5)


def chosen(app: AppTest, field: Field) -> Any:
    return app.session_state[field.key]


def test_what_is_excluded_is_kept_in_one_order_and_the_rest_can_sum_to_one():
    app = shown(controls._tokens, hide="sinks")
    assert app.multiselect(key="heads-hide-box").value == ["sinks"]
    app.multiselect(key="heads-hide-box").set_value(["sinks", "special"]).run()
    assert chosen(app, view_fields.HIDDEN) == "special+sinks"
    app.toggle(key="heads-rest-box").set_value(True).run()
    assert chosen(app, view_fields.REST) == "share"
    app.multiselect(key="heads-hide-box").set_value([]).run()
    assert chosen(app, view_fields.HIDDEN) == ""
    assert not app.toggle, "nothing is left out"


def test_the_ends_of_queries_and_of_keys_are_those_of_each():
    app = shown(controls._spans, attention="cross")
    assert [app.slider(key=f"heads-window-{name}").value for name in ("Queries", "Keys")] == [(0, 30), (0, 6)]
    assert not app.button
    app.slider(key="heads-window-Keys").set_value((2, 5)).run()
    assert chosen(app, view_fields.WINDOW) == ((0, 30), (2, 5))
    app.slider(key="heads-window-Queries").set_value((3, 7)).run()
    assert chosen(app, view_fields.WINDOW) == ((3, 7), (2, 5))
    app.button(key="heads-whole").click().run()
    assert chosen(app, view_fields.WINDOW) is None
    app.slider(key="heads-window-Keys").set_value((0, 5)).run()
    assert chosen(app, view_fields.WINDOW) == ((0, 30), (0, 5))
    app.slider(key="heads-window-Keys").set_value((0, 6)).run()
    assert chosen(app, view_fields.WINDOW) is None, "all of both is the whole text"


def test_heads_that_are_combined_have_weights():
    app = shown(controls._mix, mix=(OTHER, ONE))
    assert app.multiselect(key="heads-mix-box").value == ["0.3", "1.2"]
    sliders = {slider.key: slider.value for slider in app.slider}
    assert sliders == {"heads-mix-weight-0.3": 0.5, "heads-mix-weight-1.2": 1.0}
    app.slider(key="heads-mix-weight-1.2").set_value(0.25).run()
    assert chosen(app, view_fields.MIX) == (OTHER, HeadShare(layer=1, head=2, weight=0.25))
    app.multiselect(key="heads-mix-box").set_value(["0.3", "1.2", "0.0"]).run()
    assert len(chosen(app, view_fields.MIX)) == 3


def test_one_head_alone_is_the_chosen_one_and_no_mixture():
    app = shown(controls._mix, mean="layer")
    assert app.multiselect(key="heads-mix-box").value == ["1.2"] and not app.slider
    app.multiselect(key="heads-mix-box").set_value(["0.3"]).run()
    assert chosen(app, view_fields.MIX) == () and chosen(app, view_fields.MEAN) == ""
    assert [app.session_state[part] for part in ("attention", "layer", "head")] == ["encoder", 0, 3]
