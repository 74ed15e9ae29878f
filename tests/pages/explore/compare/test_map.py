"""The map of heads as it is drawn: its marks, names and clusters, and what their buttons open."""

from html import unescape
from typing import Any

import numpy as np
import pytest

from headlight.analysis.heads.measures import HeadName
from pages.explore.compare import map as compare_map
from pages.explore.compare import view_fields
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.sides import Side
from pages.shared.recipe import literal
from tests.pages.conftest import words_of
from tests.pages.explore.compare.compare_parts import Patterns, comparison, patterns, run, shown
from tests.pages.explore.compare.test_sides import side
from tests.pages.explore.parts import Drawing

FIRST, LAST = (np.tile(np.eye(3)[key], (3, 1)) for key in (0, 2))
NAMES = ["A L0.H0", "A L0.H1", "A L1.H0", "A L1.H1", "B L0.H0", "B L0.H1"]
GROUPS = np.array([0, 1, 0, 0, 1, 0])


@pytest.fixture
def data() -> ComparisonData:
    """Of A's heads all but L0.H1 look at the first token, and of B's the second does; the others look at the last."""
    a, b = Patterns(np.stack([[FIRST, LAST], [FIRST, FIRST]])), Patterns(np.stack([[LAST, FIRST]]))
    sides = side("A", head=HeadName("encoder", 1, 1)), side("B", head=HeadName("encoder", 0, 0), text="a c")
    return comparison(run({"encoder": a}), run({"encoder": b}), *sides)


def test_each_head_has_a_mark_of_its_side_and_of_its_cluster(data: ComparisonData, drawings: dict[str, Drawing]):
    app = shown(lambda: compare_map.show(data), **{view_fields.VIEW.key: "map"})
    drawn = drawings["compare-map"]
    heads = drawn.trace("heads")
    assert heads.marker.symbol == ("circle",) * 4 + ("diamond",) * 2
    colors = heads.marker.color
    assert len({*colors}) == 2 and [color != colors[0] for color in colors] == GROUPS.astype(bool).tolist()
    hovers = [text.split("<br>") for text in heads.customdata]
    called = ["1: attention sinks (first token), 1.00", "2: mixed"]
    assert [lines[2] for lines in hovers] == [called[group] for group in GROUPS]
    expected = (GROUPS[:, None] != GROUPS).astype(float)  # 1 apart where they share no key
    points = np.stack([heads.x, heads.y], axis=1)
    np.testing.assert_allclose(np.linalg.norm(points - points[0], axis=1), expected[0], atol=1e-6)
    ring = drawn.trace("chosen")
    assert (ring.x[0], ring.y[0]) == (heads.x[3], heads.y[3]), "the head of A"
    drawn.check("distances", ["head", "other_head", "distance"], expected)
    np.testing.assert_array_equal(drawn.arrays["clusters"], GROUPS)

    words = unescape(words_of(app))
    assert f"{called[0]}<span>4 heads</span>" in words and f"{called[1]}<span>2 heads</span>" in words
    assert [button.label for button in app.button] == [NAMES[i] for i in (0, 2, 3, 5, 1, 4)]
    app.button(key="compare-map-B-encoder.0.1").click().run()
    assert app.session_state[view_fields.HEAD_B.key] == HeadName("encoder", 0, 1)
    assert (app.session_state["layer"], app.session_state["head"]) == (0, 0), "A's is as it was"
    app.button(key="compare-map-A-encoder.1.0").click().run()
    assert (app.session_state["layer"], app.session_state["head"]) == (1, 0)
    assert app.session_state[view_fields.HEAD_B.key] == HeadName("encoder", 0, 1)
    assert app.session_state[view_fields.VIEW.key] == "one"


@pytest.mark.parametrize(("way", "about"), [("looking", "Jensen-Shannon distance"), ("writing", "(1 − CKA)^½")])
def test_a_map_of_one_side_names_no_side_and_says_by_what_heads_are_compared(
    data: ComparisonData, drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch, way: str, about: str
):
    outputs: Any = {"encoder": np.random.default_rng(0).normal(size=(2, 2, 3, 4)).astype(np.float32)}
    monkeypatch.setattr(Side, "forward", lambda *_: literal(outputs))
    app = shown(lambda: compare_map.show(data), **{view_fields.ALIKE.key: way, view_fields.ON_MAP.key: "a"})
    drawn = drawings["compare-map"]
    assert {button.label for button in app.button} == {name[2:] for name in NAMES[:4]}
    assert drawn.column(0)[0] == "L0.H0" and drawn.name == f"one-one-map-{way}"
    assert drawn.trace("heads").marker.symbol == ("circle",) * 4
    assert [text.count("<br>") for text in drawn.trace("heads").customdata] == [1] * 4, "the cluster alone"
    assert f"Distance: {about}" in words_of(app)


def test_only_some_heads_of_a_large_cluster_have_a_button(drawings, monkeypatch: pytest.MonkeyPatch):
    alike = comparison(run({"encoder": Patterns(np.tile(FIRST, (1, 5, 1, 1)))}), run({}))
    for most, rest in ((5, False), (4, True)):
        monkeypatch.setattr(compare_map, "MOST_OPENED", most)
        app = shown(lambda: compare_map.show(alike), **{view_fields.ON_MAP.key: "a"})
        assert len(app.button) == most and "5 heads" in words_of(app)
        assert ("and 1 more" in words_of(app)) == rest


def test_a_note_says_why_b_is_not_on_the_map_and_an_error_why_there_is_none(
    data: ComparisonData, drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch
):
    apart = comparison(data.a.model_run, run({"encoder": patterns(1, 1, 3, 3)}, "rst"), data.a)
    app = shown(lambda: compare_map.show(apart))
    assert "only the heads of A are shown." in words_of(app) and [*drawings] == ["compare-map"]
    drawings.clear()
    monkeypatch.setattr(compare_map, "MOST_WORK", 4 * 4 * 3 * 3 - 1)
    app = shown(lambda: compare_map.show(apart))
    assert "A map of 4 heads is limited to texts of 2 tokens" in words_of(app)
    assert not drawings and not app.button and "What to look for" not in words_of(app)
