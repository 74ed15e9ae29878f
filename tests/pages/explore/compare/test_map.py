"""The map of heads as it is drawn: its marks, names and clusters, and what their buttons open."""

from html import unescape
from typing import Any

import numpy as np
import pytest

from pages.explore.compare import map as compare_map
from pages.explore.compare import mapped, view_fields
from pages.explore.compare.data import ComparisonData
from pages.shared.recipe import value_of
from tests.pages.conftest import words_of
from tests.pages.explore.compare.compare_parts import Patterns, comparison, distance, patterns, run, shown
from tests.pages.explore.compare.test_sides import side
from tests.pages.explore.parts import Drawing
from transformer_core.analysis import HeadName
from transformer_core.analysis.heads.likeness import ClusterName

FIRST, LAST = (np.tile(np.eye(3)[key], (3, 1)) for key in (0, 2))


@pytest.fixture
def data() -> ComparisonData:
    """Of A's heads all but L0.H1 look at the first token, and of B's the second does; the others look at the last."""
    a, b = Patterns(np.stack([[FIRST, LAST], [FIRST, FIRST]])), Patterns(np.stack([[LAST, FIRST]]))
    sides = side("A", head=HeadName("encoder", 1, 1)), side("B", head=HeadName("encoder", 0, 0), text="a c")
    return comparison(run({"encoder": a}), run({"encoder": b}), *sides)


NAMES = ["A L0.H0", "A L0.H1", "A L1.H0", "A L1.H1", "B L0.H0", "B L0.H1"]


def test_each_head_has_a_mark_of_its_side_and_of_its_cluster(data: ComparisonData, drawings: dict[str, Drawing]):
    shown(lambda: compare_map.show(data))
    drawn = drawings["compare-map"]
    heads = drawn.trace("heads")
    assert heads.marker.symbol == ("circle",) * 4 + ("diamond",) * 2
    colors = heads.marker.color
    assert len({*colors}) == 2
    assert [color == colors[0] for color in colors] == [True, False, True, True, False, True]
    words = [text.split("<br>") for text in heads.customdata]
    assert [lines[0] for lines in words] == [f"<b>{name[0]}: encoder self-attention {name[2:]}</b>" for name in NAMES]
    assert [lines[1] for lines in words] == ["A: one"] * 4 + ["B: one"] * 2
    assert words[0][2] == words[5][2] == "1: attention sinks (first token), 1.00"
    assert words[1][2] == words[4][2] == "2: mixed"
    points = np.stack([heads.x, heads.y], axis=1)
    far = float(np.linalg.norm(points[0] - points[1]))
    np.testing.assert_allclose(np.linalg.norm(points - points[0], axis=1), np.array([0, far, 0, 0, far, 0]), atol=1e-6)
    assert far == pytest.approx(1, abs=1e-6), "they share no key"
    ring = drawn.trace("chosen")
    assert (ring.x[0], ring.y[0]) == (heads.x[3], heads.y[3]), "the head of A"
    assert "100%" in drawn.figure.layout.title.subtitle.text, "of the variance"


def test_what_is_taken_away_of_a_map_are_its_distances(data: ComparisonData, drawings: dict[str, Drawing]):
    shown(lambda: compare_map.show(data))
    drawn = drawings["compare-map"]
    groups = np.array([0, 1, 0, 0, 1, 0])
    expected = (groups[:, None] != groups).astype(float)
    assert drawn.name == "one-one-map-looking"
    np.testing.assert_allclose(drawn.arrays["distances"], expected, atol=1e-6)
    np.testing.assert_array_equal(drawn.arrays["clusters"], groups)
    heads = drawn.trace("heads")
    np.testing.assert_array_equal(drawn.arrays["points"], np.stack([heads.x, heads.y], axis=1))
    assert drawn.csv[0] == ["head", "other_head", "distance"]
    assert [line[:2] for line in drawn.csv[1:]] == [[name, other] for name in NAMES for other in NAMES]
    np.testing.assert_allclose([float(number) for number in drawn.column(2)], expected.ravel(), atol=1e-6)
    for part in ("distances", "laid_out.points", "groups", "names"):
        assert f"print({part})" in drawn.code


def test_heads_of_a_cluster_have_buttons_that_open_them_on_their_side(data: ComparisonData, drawings):
    app = shown(lambda: compare_map.show(data), **{view_fields.VIEW.key: "map"})
    words = unescape(words_of(app))
    assert "1: attention sinks (first token), 1.00<span>4 heads</span>" in words
    assert "2: mixed<span>2 heads</span>" in words
    assert [button.label for button in app.button] == [NAMES[i] for i in (0, 2, 3, 5, 1, 4)]
    button = app.button(key="compare-map-B-encoder.0.1")
    assert button.help == "Open B’s encoder self-attention L0.H1"
    button.click().run()
    assert app.session_state[view_fields.HEAD_B.key] == HeadName("encoder", 0, 1)
    assert (app.session_state["layer"], app.session_state["head"]) == (0, 0), "A's is as it was"
    app.button(key="compare-map-A-encoder.1.0").click().run()
    assert (app.session_state["layer"], app.session_state["head"]) == (1, 0)
    assert app.session_state[view_fields.HEAD_B.key] == HeadName("encoder", 0, 1)
    assert app.session_state[view_fields.VIEW.key] == "one"


def test_a_map_of_one_side_names_no_side(data: ComparisonData, drawings: dict[str, Drawing]):
    app = shown(lambda: compare_map.show(data), **{view_fields.ON_MAP.key: "a"})
    assert {button.label for button in app.button} == {name[2:] for name in NAMES[:4]}
    assert drawings["compare-map"].column(0)[0] == "L0.H0"
    heads = drawings["compare-map"].trace("heads")
    assert heads.marker.symbol == ("circle",) * 4
    assert [text.count("<br>") for text in heads.customdata] == [1] * 4, "the cluster alone"
    assert drawings["compare-map"].name == "one-one-map-looking"


def test_only_some_heads_of_a_large_cluster_have_a_button(drawings, monkeypatch: pytest.MonkeyPatch):
    alike = comparison(run({"encoder": Patterns(np.tile(FIRST, (1, 5, 1, 1)))}), run({}))
    for most, n_buttons, rest in ((5, 5, False), (4, 4, True)):
        monkeypatch.setattr(compare_map, "MOST_OPENED", most)
        app = shown(lambda: compare_map.show(alike), **{view_fields.ON_MAP.key: "a"})
        assert len(app.button) == n_buttons
        assert ("and 1 more" in words_of(app)) == rest
        assert "5 heads" in words_of(app)


def test_a_note_says_why_b_is_not_on_the_map_and_an_error_why_there_is_none(
    data: ComparisonData, drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch
):
    apart = comparison(data.model_runs[0], run({"encoder": patterns(1, 1, 3, 3)}, "rst"), data.a)
    app = shown(lambda: compare_map.show(apart))
    assert "only the heads of A are shown." in words_of(app) and [*drawings] == ["compare-map"]
    drawings.clear()
    monkeypatch.setattr(mapped, "MOST_WORK", 4 * 4 * 3 * 3 - 1)
    app = shown(lambda: compare_map.show(apart))
    assert "A map of 4 heads is limited to texts of 2 tokens; shorten the text." in words_of(app)
    assert not drawings and not app.button and "What to look for" not in words_of(app)


@pytest.mark.parametrize(
    ("name", "called"),
    [
        (ClusterName(habit="previous", mean=0.456, n_heads=2), "previous-token heads, 0.46"),
        (ClusterName(habit="mixed", mean=0.3, n_heads=2), "mixed"),
        (ClusterName(habit="special", mean=None, n_heads=2), "attention sinks (special tokens)"),
    ],
)
def test_a_cluster_is_called_after_its_habit_with_its_score(name: ClusterName, called: str):
    assert compare_map._called(name) == called


@pytest.mark.parametrize(
    ("way", "title", "about"),
    [
        ("looking", "Head map by attention patterns", "Jensen-Shannon distance of their rows (base 2)"),
        ("writing", "Head map by head outputs", "(1 − CKA)^½ of their outputs to the residual stream"),
    ],
)
def test_the_map_says_by_what_heads_are_compared(
    data: ComparisonData,
    drawings: dict[str, Drawing],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    title: str,
    about: str,
):
    from pages.explore.compare.sides import Side
    from pages.shared.recipe import literal

    outputs: Any = {"encoder": np.random.default_rng(0).normal(size=(2, 2, 3, 4)).astype(np.float32)}
    monkeypatch.setattr(Side, "forward", lambda *_: literal(outputs))
    app = shown(lambda: compare_map.show(data), **{view_fields.ALIKE.key: way, view_fields.ON_MAP.key: "a"})
    assert drawings["compare-map"].title.startswith(title)
    assert drawings["compare-map"].name == f"one-one-map-{way}"
    assert f"Distance: {about}" in words_of(app)
    assert "heads of encoder self-attention that lie close together" in words_of(app)


def test_the_lines_give_the_distances_of_the_heads_that_are_shown(data: ComparisonData):
    def lines(**session: Any) -> list[Any]:
        found: list[Any] = []
        shown(lambda: found.extend(value_of([line.value for line in compare_map.code(data)])), **session)
        return found

    both, alone = lines(), lines(**{view_fields.ON_MAP.key: "a"})
    assert both[:2] == ["u v", "u v"] and both[2].shape == (6, 6) and alone[2].shape == (4, 4)
    of_a: Any = data.model_runs[0].attention_maps["encoder"]
    looked = of_a.weights
    assert both[2][0, 1] == pytest.approx(distance(looked[0, 0], looked[0, 1]), abs=1e-6)
    assert both[3].shape == (6, 2) and both[4].shape == (6,)
