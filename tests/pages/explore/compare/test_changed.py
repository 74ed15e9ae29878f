"""Which heads changed most, on chosen patterns."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from headlight.analysis.heads.measures import HeadName
from pages.explore.compare import changed, view_fields
from pages.explore.compare.data import ComparisonData
from pages.shared.recipe import value_of
from tests.pages.conftest import words_of
from tests.pages.explore.compare.compare_parts import Patterns, comparison, distance, patterns, run, shown
from tests.pages.explore.parts import Drawing


def cross(*looked_at: int) -> Patterns:
    """Heads of one layer, each of which looks at one key of three from all queries."""
    return Patterns(np.stack([np.tile(np.eye(3)[key], (3, 1)) for key in looked_at])[None])


@pytest.fixture
def data() -> ComparisonData:
    """Two layers of three heads of an encoder, and a cross-attention of two, of which the second changed wholly."""
    a, b = patterns(2, 3, 3, 3), patterns(2, 3, 3, 3, seed=1)
    b.weights[1, 2] = a.weights[1, 2]
    return comparison(run({"encoder": a, "cross": cross(0, 1)}), run({"encoder": b, "cross": cross(0, 2)}))


def expected(data: ComparisonData, attention: str) -> np.ndarray:
    runs: Any = [side.model_run for side in data.sides]
    a, b = (model_run.attention_maps[attention].weights for model_run in runs)
    return np.array([[distance(*heads) for heads in zip(*layers, strict=True)] for layers in zip(a, b, strict=True)])


def test_each_attention_has_a_grid_of_its_own_distances(data: ComparisonData, drawings: dict[str, Drawing]):
    shown(lambda: changed.show(data))
    titles = {"encoder": "Encoder self-attention", "cross": "Cross-attention"}
    assert [*drawings] == [f"compare-changed-{name}" for name in titles]
    for name, title in titles.items():
        drawn, distances = drawings[f"compare-changed-{name}"], expected(data, name)
        assert drawn.title == f"{title}: distance between A and B"
        np.testing.assert_allclose(drawn.cells(), distances, atol=1e-6)
        drawn.check("distance", ["layer", "head", "distance"], distances)
    assert drawings["compare-changed-cross"].cells().tolist() == [[0, 1]]


def test_the_heads_that_changed_stand_in_a_list_that_begins_with_the_greatest_change(data: ComparisonData, drawings):
    app = shown(lambda: changed.show(data))
    distances = {
        f"{name}.{layer}.{head}": float(change)
        for name in ("encoder", "cross")
        for (layer, head), change in np.ndenumerate(expected(data, name))
    }
    ranked = sorted((name for name, change in distances.items() if change), key=distances.__getitem__, reverse=True)
    assert ranked[0] == "cross.0.1" and len(ranked) == 6, "two heads did not change"
    assert [str(button.key).removeprefix("compare-open-") for button in app.button] == ranked
    assert app.button[0].label == "Cross-attention L0.H1"
    view = {view_fields.HEAD_B.key: HeadName("decoder", 2, 2), view_fields.VIEW.key: "changed"}
    for key, value in view.items():
        app.session_state[key] = value
    app.button(key=f"compare-open-{ranked[1]}").click().run()
    opened = [str(app.session_state[part]) for part in ("attention", "layer", "head")]
    assert ".".join(opened) == ranked[1]
    assert app.session_state[view_fields.HEAD_B.key] is None and app.session_state[view_fields.VIEW.key] == "one"


def test_a_dozen_heads_are_listed_at_most_and_those_of_a_change_that_is_none_in_two_digits_are_not(
    drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch
):
    many = comparison(run({"cross": cross(*[0] * 15)}), run({"cross": cross(*[1] * 14, 0)}))
    monkeypatch.setattr(changed, "UNCHANGED", 1.0)  # just what these heads changed by
    app = shown(lambda: changed.show(many))
    assert [button.key for button in app.button] == [f"compare-open-cross.0.{head}" for head in range(12)]
    assert changed.most_changed(many) == [(HeadName("cross", 0, head), 1.0) for head in range(14)]
    *_, listed = changed.code(many)
    assert [head.head for head, _ in value_of(listed.value)] == [*range(12)]


def test_the_same_model_on_the_same_text_has_no_changes(data: ComparisonData, drawings: dict[str, Drawing]):
    same = replace(data, b=replace(data.b, text=data.a.text))
    app = shown(lambda: changed.show(same))
    assert "so no head changed" in words_of(app)
    assert not drawings and changed.most_changed(same) == []
    assert changed.most_changed(data)
    unchanged = comparison(data.a.model_run, data.a.model_run)
    app = shown(lambda: changed.show(unchanged))
    assert "No head changed" in words_of(app) and not app.button


def test_texts_of_other_lengths_are_compared_and_models_of_other_shapes_are_not(drawings: dict[str, Drawing]):
    a, longer = patterns(1, 2, 3, 3), patterns(1, 2, 4, 4, seed=1)
    shown(lambda: changed.show(comparison(run({"encoder": a}, "xyz"), run({"encoder": longer}, "xyzq"))))
    assert [*drawings] == ["compare-changed-encoder"]
    drawings.clear()
    for shape in ((3, 3, 3, 3), (2, 2, 3, 3)):
        other = comparison(run({"encoder": patterns(2, 3, 3, 3)}), run({"encoder": patterns(*shape)}))
        app = shown(partial(changed.show, other))
        assert "Only models with the same layers, heads and attentions can be compared" in words_of(app)
        assert not drawings and changed.most_changed(other) == []
        assert len(changed.code(other)) == 2, "what each side says"


def test_an_attention_whose_tokens_cannot_be_paired_is_left_out_and_named(drawings: dict[str, Drawing]):
    maps = {name: patterns(1, 1, 3, 3) for name in ("encoder", "decoder", "cross")}
    apart = comparison(run(maps, target="uvw"), run(maps, target="rst"))
    app = shown(lambda: changed.show(apart))
    assert [*drawings] == ["compare-changed-encoder"]
    assert "In decoder self-attention and cross-attention, the two sides share too few" in words_of(app)
    app = shown(lambda: changed.show(comparison(run(maps), run(maps, source="rst", target="rst"))))
    assert "The two texts share too few tokens to compare heads" in words_of(app)
    assert [*drawings] == ["compare-changed-encoder"], "nothing more was drawn"


def test_a_click_on_a_cell_opens_the_head_on_both_sides_and_letting_go_nothing():
    for cell, opened in (((2, 3), ("cross", 2, 3, "one")), (None, ("encoder", 0, 0, "changed"))):
        app = shown(lambda cell=cell: changed._open("cross", cell), **{view_fields.VIEW.key: "changed"})
        keys = ("attention", "layer", "head", view_fields.VIEW.key)
        assert tuple(app.session_state[key] for key in keys) == opened
