"""The heads of a map: whose they are, how far apart, and what their clusters are called; on chosen patterns."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import streamlit as st

from headlight.analysis.heads.measures import HeadName
from pages.explore.compare import map as compare_map
from pages.explore.compare import view_fields
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.sides import Side
from pages.shared.recipe import literal, value_of
from tests.pages.explore.compare.compare_parts import Patterns, comparison, distance, patterns, run
from tests.pages.explore.compare.test_sides import side
from transformer_core.errors import ConfigError


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {})


@pytest.fixture
def data() -> ComparisonData:
    """Two layers of two heads in A, one of three in B."""
    return comparison(run({"encoder": patterns(2, 2, 3, 3)}), run({"encoder": patterns(1, 3, 3, 3, seed=1)}))


def check_distances(mapped: compare_map.MappedHeads, *maps: Any) -> None:
    """The distances are those of these attentions' heads."""
    heads = [of.pattern(*place) for of in maps for place in np.ndindex(of.shape[:2])]
    expected = [[distance(one, other) for other in heads] for one in heads]
    np.testing.assert_allclose(mapped.distances, expected, atol=1e-6)


def test_all_heads_of_both_sides_are_there_those_of_a_first(data: ComparisonData):
    a, b = (side.model_run.attention_maps for side in data.sides)
    actual = compare_map.mapped(data, compare_map.shared_tokens(data)[0])
    of_a = [("A", HeadName("encoder", layer, head)) for layer in range(2) for head in range(2)]
    assert actual.heads == of_a + [("B", HeadName("encoder", 0, head)) for head in range(3)]
    check_distances(actual, a["encoder"], b["encoder"])
    assert actual.is_both and actual.groups.shape == (7,) and len(actual.names) == actual.groups.max() + 1
    assert actual.laid_out.points.shape == (7, 2)
    alone = compare_map.mapped(data, None)
    assert alone.heads == of_a and not alone.is_both
    check_distances(alone, a["encoder"])
    other = run({"encoder": patterns(1, 1, 3, 3), "cross": patterns(1, 2, 3, 3, seed=1)}, "xyz", "xyz")
    crossed = comparison(data.a.model_run, other, data.a, side("B", head=HeadName("cross", 0, 1)))
    actual = compare_map.mapped(crossed, crossed.shared("encoder", "cross"))
    assert actual.heads == [*of_a, ("B", HeadName("cross", 0, 0)), ("B", HeadName("cross", 0, 1))]
    check_distances(actual, a["encoder"], other.attention_maps["cross"])


@pytest.mark.parametrize(
    ("chosen", "of_b", "text"),
    [
        ("both", {"text": "a c"}, None),
        ("a", {}, ""),
        ("both", {"head": HeadName("cross", 0, 0)}, None),  # the same model, but other heads of it
        ("both", {"head": HeadName("encoder", 0, 1)}, "so each head appears only once."),
    ],
)
def test_the_heads_of_b_are_there_where_they_show_something_else(chosen: str, of_b: dict[str, Any], text: str | None):
    view_fields.ON_MAP.set(chosen)
    maps = {name: patterns(1, 2, 3, 3) for name in ("encoder", "cross")}
    a = side("A", head=HeadName("encoder", 0, 0))
    shared, remark = compare_map.shared_tokens(
        comparison(run(maps, "xyz", "xyz"), run(maps, "xyz", "xyz"), a, replace(a, letter="B", **of_b))
    )
    assert (shared is not None) == (text is None)
    assert remark.endswith(text or "") and bool(remark) == bool(text)


def test_two_sides_with_other_tokens_have_no_joint_map(data: ComparisonData):
    maps = data.a.model_run.attention_maps
    shared, remark = compare_map.shared_tokens(comparison(data.a.model_run, run(maps, "rst")))
    assert shared is None and "share too few tokens for a joint map" in remark


def test_a_map_of_too_much_work_is_refused(data: ComparisonData, monkeypatch: pytest.MonkeyPatch):
    uneven = comparison(
        run({"cross": patterns(2, 2, 2, 3)}, "xyz", "uv"), run({}), side("A", head=HeadName("cross", 0, 0))
    )
    monkeypatch.setattr(compare_map, "MOST_WORK", 4 * 4 * 2 * 3)
    assert len(compare_map.mapped(uneven, None).heads) == 4
    monkeypatch.setattr(compare_map, "MOST_WORK", 4 * 4 * 2 * 3 - 1)
    with pytest.raises(ConfigError, match="a map of 4 heads is limited to texts of 2 tokens; shorten the text"):
        compare_map.mapped(uneven, None)
    monkeypatch.setattr(compare_map, "MOST_WORK", 7 * 7 * 3 * 3 - 1)
    assert compare_map.mapped(data, None)
    with pytest.raises(ConfigError, match="a map of 7 heads"):  # those of both sides count
        compare_map.mapped(data, compare_map.shared_tokens(data)[0])


def test_habits_are_measured_on_each_side_with_its_own_special_tokens():
    first, second = (Patterns(np.eye(3)[[key] * 3][None, None]) for key in (0, 1))
    a = run({"encoder": first}, special={"source": (True, False, False)})
    b = run({"encoder": second}, special={"source": (False, True, False)})
    data = comparison(a, b)
    scores = value_of(compare_map._scores(data, compare_map.shared_tokens(data)[0]))
    assert scores["first"].tolist() == [1, 0]
    assert scores["special"].tolist() == [1, 1], "each looks at the one that is special in its own text"
    assert value_of(compare_map._scores(data, None))["special"].tolist() == [1]
    actual = compare_map.mapped(data, None)
    assert [(name.habit, name.mean) for name in actual.names] == [("first", 1.0)], "a cluster is named after its habit"


def test_a_habit_that_one_of_the_two_attentions_cannot_have_names_no_cluster():
    both = run({name: patterns(1, 1, 3, 3) for name in ("encoder", "cross")}, "xyz", "xyz")
    habits = {"first", "special", "diagonality"}
    for a, b, more in (("encoder", "encoder", {"previous"}), ("encoder", "cross", set()), ("cross", "cross", set())):
        sides = side("A", head=HeadName(a, 0, 0)), side("B", head=HeadName(b, 0, 0), text="a c")
        data = comparison(both, both, *sides)
        assert {*value_of(compare_map._scores(data, data.shared(a, b)))} == habits | more


def test_a_map_of_what_is_written_asks_each_model_of_its_own_head(monkeypatch: pytest.MonkeyPatch):
    """The outputs of A's heads differ by a rotation, which CKA does not see; those of B by far more."""
    rng = np.random.default_rng(0)
    written = rng.normal(size=(3, 4)).astype(np.float32)
    of_a = np.stack([written, written[:, ::-1]])[None]
    of_b = rng.normal(size=(1, 1, 3, 4)).astype(np.float32)
    monkeypatch.setattr(Side, "forward", lambda *_: literal({"encoder": of_a, "cross": of_b}))
    view_fields.ALIKE.set("writing")
    of_both = run({"encoder": patterns(1, 2, 3, 3), "cross": patterns(1, 1, 3, 3)}, "xyz", "xyz")
    sides = side("A", head=HeadName("encoder", 0, 0)), side("B", head=HeadName("cross", 0, 0), text="c")
    data = comparison(of_both, of_both, *sides)
    both = value_of(compare_map._distances(data, data.shared("encoder", "cross")))
    assert both[0, 1] == pytest.approx(0, abs=1e-3) and both[0, 2] == pytest.approx(both[1, 2]) and both[0, 2] > 0.3
