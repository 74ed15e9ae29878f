"""The heads of a map: whose they are, how far apart, and what their clusters are called; on chosen patterns."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import streamlit as st

from pages.explore.compare import mapped, view_fields
from pages.explore.compare.data import ComparisonData
from pages.shared.recipe import value_of
from tests.pages.explore.compare.compare_parts import Patterns, comparison, distance, patterns, run
from tests.pages.explore.compare.test_sides import side
from transformer_core.analysis import HeadName
from transformer_core.errors import ConfigError

CROSS = HeadName("cross", 0, 1)


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", kept)
    return kept


@pytest.fixture
def data() -> ComparisonData:
    """Two layers of two heads in A, one of three in B."""
    return comparison(run({"encoder": patterns(2, 2, 3, 3)}), run({"encoder": patterns(1, 3, 3, 3, seed=1)}))


def expected(*heads: np.ndarray) -> list[list[float]]:
    return [[distance(one, other) for other in heads] for one in heads]


def each(of: Any) -> list[np.ndarray]:
    return [of.pattern(*place) for place in np.ndindex(of.shape[:2])]


def test_all_heads_of_both_sides_are_there_those_of_a_first(data: ComparisonData):
    found = mapped.mapped(data, mapped.shared_tokens(data)[0])
    of_a = [("A", HeadName("encoder", layer, head)) for layer in range(2) for head in range(2)]
    assert found.heads == of_a + [("B", HeadName("encoder", 0, head)) for head in range(3)]
    assert found.is_both
    heads = [*each(data.model_runs[0].attention_maps["encoder"]), *each(data.model_runs[1].attention_maps["encoder"])]
    np.testing.assert_allclose(found.distances, expected(*heads), atol=1e-6)
    assert found.groups.shape == (7,) and len(found.names) == found.groups.max() + 1
    assert found.laid_out.points.shape == (7, 2)


def test_where_a_is_alone_only_its_heads_are_there(data: ComparisonData):
    found = mapped.mapped(data, None)
    assert [letter for letter, _ in found.heads] == ["A"] * 4 and not found.is_both
    heads = each(data.model_runs[0].attention_maps["encoder"])
    np.testing.assert_allclose(found.distances, expected(*heads), atol=1e-6)


def test_each_side_has_the_heads_of_the_attention_of_its_own(data: ComparisonData):
    b = run({"encoder": patterns(1, 1, 3, 3), "cross": patterns(1, 2, 3, 3, seed=1)}, "xyz", "xyz")
    found = mapped.mapped(
        of := comparison(data.model_runs[0], b, data.a, side("B", head=CROSS)), of.shared("encoder", "cross")
    )
    assert [head for letter, head in found.heads if letter == "B"] == [HeadName("cross", 0, 0), HeadName("cross", 0, 1)]
    heads = [*each(data.model_runs[0].attention_maps["encoder"]), *each(b.attention_maps["cross"])]
    np.testing.assert_allclose(found.distances, expected(*heads), atol=1e-6)


@pytest.mark.parametrize(
    ("chosen", "of_b", "told"),
    [
        ("both", {"text": "a c"}, None),
        ("a", {"text": "a c"}, ""),
        ("a", {}, ""),
        ("both", {}, "so each head appears only once."),
        ("both", {"head": HeadName("cross", 0, 0)}, None),  # the same model, but other heads of it
        ("both", {"head": HeadName("encoder", 0, 1)}, "so each head appears only once."),
    ],
)
def test_the_heads_of_b_are_there_where_that_shows_something_else(chosen: str, of_b: dict[str, Any], told: str | None):
    view_fields.ON_MAP.set(chosen)
    maps = {name: patterns(1, 2, 3, 3) for name in ("encoder", "cross")}
    a = side("A", head=HeadName("encoder", 0, 0))
    shared, remark = mapped.shared_tokens(
        comparison(run(maps, "xyz", "xyz"), run(maps, "xyz", "xyz"), a, replace(a, letter="B", **of_b))
    )
    assert (shared is not None) == (told is None)
    assert remark.endswith(told or "") and bool(remark) == bool(told)


def test_two_sides_with_other_tokens_have_no_joint_map(data: ComparisonData):
    maps = data.model_runs[0].attention_maps
    shared, remark = mapped.shared_tokens(comparison(data.model_runs[0], run(maps, "rst")))
    assert shared is None
    assert remark == "The two sides share too few tokens for a joint map, so only the heads of A are shown."


@pytest.mark.parametrize(("most", "is_too_much"), [(4 * 4 * 2 * 3, False), (4 * 4 * 2 * 3 - 1, True)])
def test_a_map_of_too_much_work_is_refused(most: int, is_too_much: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mapped, "MOST_WORK", most)
    a = side("A", head=HeadName("cross", 0, 0))
    data = comparison(run({"cross": patterns(2, 2, 2, 3)}, "xyz", "uv"), run({}), a)
    if not is_too_much:
        assert len(mapped.mapped(data, None).heads) == 4
        return
    with pytest.raises(ConfigError, match="a map of 4 heads is limited to texts of 2 tokens; shorten the text"):
        mapped.mapped(data, None)


def test_the_heads_of_both_sides_count_as_work(data: ComparisonData, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mapped, "MOST_WORK", 7 * 7 * 3 * 3 - 1)
    assert mapped.mapped(data, None)
    with pytest.raises(ConfigError, match="a map of 7 heads is limited to texts of 2 tokens"):
        mapped.mapped(data, mapped.shared_tokens(data)[0])


def test_habits_are_measured_on_each_side_with_its_own_special_tokens():
    first, second = np.eye(3)[[0, 0, 0]], np.eye(3)[[1, 1, 1]]
    one, other = Patterns(first[None, None]), Patterns(second[None, None])
    a = run({"encoder": one}, special={"source": (True, False, False)})
    b = run({"encoder": other}, special={"source": (False, True, False)})
    data = comparison(a, b)
    scores = value_of(mapped._scores(data, mapped.shared_tokens(data)[0]))
    assert scores["first"].tolist() == [1, 0]
    assert scores["special"].tolist() == [1, 1], "each looks at the one that is special in its own text"
    assert value_of(mapped._scores(data, None))["special"].tolist() == [1]


def test_a_habit_that_one_of_the_two_attentions_cannot_have_names_no_cluster():
    maps = {name: patterns(1, 1, 3, 3) for name in ("encoder", "cross")}
    a, b = run(maps, "xyz", "xyz"), run(maps, "xyz", "xyz")
    habits = {
        attentions: {*value_of(mapped._scores(data, data.shared(*attentions)))}
        for attentions in (("encoder", "encoder"), ("encoder", "cross"), ("cross", "cross"))
        for heads in [[HeadName(name, 0, 0) for name in attentions]]
        for data in [comparison(a, b, side("A", head=heads[0]), side("B", head=heads[1], text="a c"))]
    }
    assert habits["encoder", "encoder"] == {"previous", "first", "special", "diagonality"}
    assert habits["cross", "cross"] == habits["encoder", "cross"] == {"first", "special", "diagonality"}


def test_a_cluster_is_named_after_what_its_heads_do(data: ComparisonData):
    looks_first = Patterns(np.tile(np.eye(3)[0], (2, 2, 3, 1)))
    found = mapped.mapped(comparison(run({"encoder": looks_first}), run({})), None)
    assert [(name.habit, name.mean) for name in found.names] == [("first", 1.0)]


def test_a_map_of_what_is_written_asks_each_model_of_its_own_head(monkeypatch: pytest.MonkeyPatch):
    """The outputs of A's heads differ by a turn, which CKA does not see; those of B by far more."""
    from pages.explore.compare.sides import Side
    from pages.shared.recipe import literal

    rng = np.random.default_rng(0)
    written = rng.normal(size=(3, 4)).astype(np.float32)
    of_a = np.stack([written, written[:, ::-1]])[None]
    of_b = rng.normal(size=(1, 1, 3, 4)).astype(np.float32)
    outputs = {"A": {"encoder": of_a, "cross": of_b}, "B": {"encoder": of_a, "cross": of_b}}
    monkeypatch.setattr(Side, "forward", lambda self, name, function, inputs: literal(outputs[self.letter]))
    view_fields.ALIKE.set("writing")
    of_both = run({"encoder": patterns(1, 2, 3, 3), "cross": patterns(1, 1, 3, 3)}, "xyz", "xyz")
    a_side, b_side = side("A", head=HeadName("encoder", 0, 0)), side("B", head=HeadName("cross", 0, 0), text="c")
    data = comparison(of_both, of_both, a_side, b_side)
    alone = value_of(mapped._distances(data, None))
    np.testing.assert_allclose(alone, np.zeros((2, 2)), atol=1e-3)
    both = value_of(mapped._distances(data, data.shared("encoder", "cross")))
    a, b = (x.astype(np.float64) - x.mean(axis=0) for x in (written, of_b[0, 0]))
    grams = [x @ x.T for x in (a, b)]
    cka = (grams[0] * grams[1]).sum() / np.linalg.norm(grams[0]) / np.linalg.norm(grams[1])
    apart = np.sqrt(1 - cka)
    np.testing.assert_allclose(both, [[0, 0, apart], [0, 0, apart], [apart, apart, 0]], atol=1e-3)
