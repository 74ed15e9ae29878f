"""The lines of each part of Positions, run as a reader runs them: what they define and print is what is drawn."""

from typing import Any

import numpy as np
import pytest

from pages.learn.positions import recipes, view_fields
from pages.learn.positions.data import PositionsData
from tests.pages.learn.bare import run_lines
from tests.pages.learn.positions.conftest import Look


def run_them(data: PositionsData) -> tuple[dict[str, Any], list[str]]:
    names, printed = run_lines(recipes.lines_of(data))
    return names, printed.splitlines()


OWN = {"learned": "stories", "rotary_halves": "fill-in", "rotary_interleaved": "fill-in", "alibi": "induction"}
EACH_PART = [(encoding, part) for encoding in view_fields.ENCODINGS for part in view_fields.PARTS_OF[encoding]]


@pytest.mark.parametrize(("encoding", "part"), EACH_PART)
def test_the_lines_of_each_part_run(look: Look, encoding: str, part: str):
    run_them(look(OWN.get(encoding, "en-fr"), encoding, part, n=3, width=4))


def test_the_lines_are_of_what_is_drawn(look: Look):
    """Where the lines print more than the figure's own numbers."""
    _, printed = run_them(look("en-fr", "sinusoidal_halves", "waves", n=2, width=4))
    columns = [line.split() for line in printed if "wavelength" in line]
    assert [column[:2] for column in columns] == [["sin", "0"], ["sin", "1"], ["cos", "0"], ["cos", "1"]]
    assert [float(column[-1]) for column in columns] == pytest.approx([2 * np.pi, 200 * np.pi] * 2)
    for encoding, axes in (("sinusoidal_halves", "[pos, pos]"), ("rotary_halves", "[query, key]")):
        assert axes in recipes.lines_of(look("en-fr", encoding, "products", n=3, width=4))
    lines = recipes.lines_of(look("en-fr", "sinusoidal_halves", "shift", n=5, width=4, shift=2))
    assert lines.index("found.turned") < lines.index("found.unturned")
    of = {"text": "The cat sleeps.", "layer": 2, "head": 1, "vectors": "model", "tokens": (3, 1)}
    lines = recipes.lines_of(look("fill-in", "rotary_halves", "dials", n=4, **of)).replace('"', "'")
    for words in ("attention='encoder'", "layer=2", "head=1", "query=3", "key=1", "np.arange(-3, 4)"):
        assert words in lines
    lines = recipes.lines_of(look("induction", "alibi", "bias", n=5, slope=7))
    assert "slopes(4)" in lines and "alibi_by_distance(4, 5)" in lines and "alibi_matrix(4, 3, 5)" in lines
    for sees, n_distances in (("past", 6), ("all", 11)):
        names, _ = run_them(look("en-fr", "relative_buckets", "bias", n=6, sees=sees))
        assert len(names["found"].distance) == n_distances and names["found"].matrix.shape == (6, 6)


def test_the_lines_of_the_model_are_of_the_chosen_head(look: Look):
    of = {"text": "The cat sleeps.", "layer": 2, "head": 1}
    names, printed = run_them(look("fill-in", "rotary_halves", "model", **of))
    parts = [*names["found"].parts]
    assert parts == ["unturned", "turning"] and [line.split()[0] for line in printed if line[:1] in "ut"] == parts
    data = look("fill-in", "rotary_halves", "model", in_="shuffle", seed=3, **of)
    names, printed = run_them(data)
    found = names["found"]
    assert printed[0] == str((found.text, found.output)) and "seed=3" in recipes.lines_of(data)
    assert str(found.shuffled[2, 1]) in "\n".join(printed)
