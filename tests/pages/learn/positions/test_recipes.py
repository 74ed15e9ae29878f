"""The lines of each part of Positions, run as a reader runs them: what they define and print is what is drawn."""

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.positions import recipes
from pages.learn.positions.data import PositionsData
from tests.pages.learn.positions.conftest import Look


def run_lines(data: PositionsData) -> tuple[dict[str, Any], list[str]]:
    """Run the lines; return what they define, and what they print."""
    names: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(recipes.lines_of(data), names)
    return names, printed.getvalue().splitlines()


def test_the_lines_of_a_table_make_as_many_rows_as_are_drawn(look: Look):
    names, _ = run_lines(look("en-fr", "sinusoidal_interleaved", n=3, width=4))
    angles = np.arange(3)[:, None] / np.array([1.0, 100.0])
    expected = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(3, 4)
    np.testing.assert_allclose(names["table"].values, expected, atol=1e-6)
    names, _ = run_lines(look("stories", "learned", n=3))
    model, _ = tc.load("checkpoints/stories")
    rows = next(weights for name, weights in model.named_parameters() if "pos" in name).detach().numpy()
    np.testing.assert_allclose(names["table"].values, rows[:3], atol=1e-7)


def test_the_lines_of_waves_print_each_columns_wavelength(look: Look):
    _, printed = run_lines(look("en-fr", "sinusoidal_halves", "waves", n=2, width=4))
    columns = [line.split() for line in printed if "wavelength" in line]
    assert [column[:2] for column in columns] == [["sin", "0"], ["sin", "1"], ["cos", "0"], ["cos", "1"]]
    assert [float(column[-1]) for column in columns] == pytest.approx([2 * np.pi, 200 * np.pi] * 2)
    _, printed = run_lines(look("en-fr", "sinusoidal_halves", "table", n=2, width=4))
    assert not any("wavelength" in line for line in printed)


@pytest.mark.parametrize("encoding", ["sinusoidal_halves", "rotary_halves"])
def test_the_lines_of_products_compute_all_of_them_and_their_means(look: Look, encoding: str):
    names, _ = run_lines(look("en-fr", encoding, "products", n=3, width=4))
    distances = np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    expected = np.cos(distances) + np.cos(distances / 100)
    expected = expected / 2 if encoding == "rotary_halves" else expected
    np.testing.assert_allclose(names["products"], expected, atol=1e-5)
    np.testing.assert_allclose(names["decay"].mean, expected[0], atol=1e-5)
    axes = "[query, key]" if encoding == "rotary_halves" else "[pos, pos]"
    assert axes in recipes.lines_of(look("en-fr", encoding, "products", n=3, width=4))


def test_the_lines_of_a_shift_print_what_the_turn_leaves_before_what_is_left_without_it(look: Look):
    names, printed = run_lines(look("en-fr", "sinusoidal_halves", "shift", n=5, width=4, shift=2))
    assert names["found"].k == 2 and names["found"].matrix.shape == (4, 4)
    assert names["found"].turned.max() < 1e-6 < names["found"].unturned.max()
    assert "with R and without" in recipes.lines_of(look("en-fr", "sinusoidal_halves", "shift", n=5, width=4))
    last = printed[-1]
    numbers = [float(part.strip("()np.float3264 ")) for part in last.replace("np.float32", "").split(",")[:2]]
    assert numbers[0] < numbers[1]


def test_the_lines_of_the_dials_go_over_all_distances_of_the_chosen_vectors(look: Look):
    data = look("en-fr", "rotary_halves", "dials", n=4, width=4)
    names, printed = run_lines(data)
    assert names["dials"].query.tolist() == names["dials"].key.tolist() == [0.5**0.5, 0.5**0.5, 0, 0]
    assert "np.arange(-3, 4)" in recipes.lines_of(data) and printed
    data = look(
        "fill-in", "rotary_halves", "dials", text="The cat sleeps.", layer=2, head=1, vectors="model", tokens=(3, 1)
    )
    lines = recipes.lines_of(data)
    for part in ("attention='encoder'", "layer=2", "head=1", "query=3", "key=1"):
        assert part in lines.replace('"', "'")


@pytest.mark.parametrize(("head", "shown"), [(1, 1), (7, 3)])
def test_the_lines_of_alibi_are_of_as_many_heads_and_of_the_chosen_one(look: Look, head: int, shown: int):
    lines = recipes.lines_of(look("induction", "alibi", "bias", n=5, slope=head))
    assert "slopes(4)" in lines and "alibi_by_distance(4, 5)" in lines and f"alibi_matrix(4, {shown}, 5)" in lines
    run_lines(look("induction", "alibi", "bias", n=5, slope=head))


@pytest.mark.parametrize(("sees", "n_distances"), [("past", 6), ("all", 11)])
def test_the_lines_of_buckets_see_as_far_as_the_queries(look: Look, sees: str, n_distances: int):
    names, _ = run_lines(look("en-fr", "relative_buckets", "bias", n=6, sees=sees))
    assert len(names["found"].distance) == n_distances and names["found"].matrix.shape == (6, 6)


@pytest.mark.parametrize(
    ("own", "chosen", "n_heads"), [("induction", None, 4), ("en-fr", None, 8), ("induction", 5, 5)]
)
def test_heads_with_slopes_are_the_chosen_ones_the_models_or_the_published(
    look: Look, own: str, chosen: int | None, n_heads: int
):
    assert recipes.n_heads(look(own, "alibi", "bias", heads=chosen)) == n_heads


def test_the_lines_of_the_model_are_of_the_chosen_head(look: Look):
    of = {"text": "The cat sleeps.", "layer": 2, "head": 1}
    names, printed = run_lines(look("fill-in", "rotary_halves", "model", **of))
    parts = [*names["found"].parts]
    assert parts == ["unturned", "turning"] and [line.split()[0] for line in printed if line[:1] in "ut"] == parts
    names, printed = run_lines(look("fill-in", "rotary_halves", "model", in_="shuffle", seed=3, **of))
    found = names["found"]
    assert printed[0] == str((found.text, found.output))
    assert str(found.shuffled[2, 1]) in "\n".join(printed) and "seed=3" in recipes.lines_of(
        look("fill-in", "rotary_halves", "model", in_="shuffle", seed=3, **of)
    )
