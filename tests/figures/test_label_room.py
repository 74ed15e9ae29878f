"""Labels beside points: none covers a point or another label."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.figures.label_room import label_sides
from transformer_core.figures.labels import LINE, text_width

SIZE = (300.0, 200.0)
WAY = {"middle right": (1, 0), "middle left": (-1, 0), "top center": (0, -1), "bottom center": (0, 1)}


def boxes(points: np.ndarray, texts: list[str], sides: list[str], radius: float) -> dict[int, tuple[float, ...]]:
    """The left, top, right and bottom of each label."""
    found: dict[int, tuple[float, ...]] = {}
    for i, (side, text) in enumerate(zip(sides, texts, strict=True)):
        if side:
            width = 0.85 * text_width(text)
            x = points[i][0] + WAY[side][0] * (radius + width / 2)
            y = points[i][1] + WAY[side][1] * (radius + LINE / 2)
            found[i] = (x - width / 2, y - LINE / 2, x + width / 2, y + LINE / 2)
    return found


def apart(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    slack = 1e-6
    return (
        one[2] <= other[0] + slack
        or other[2] <= one[0] + slack
        or one[3] <= other[1] + slack
        or other[3] <= one[1] + slack
    )


@given(st.integers(0, 1000), st.integers(0, 40))
def test_labels_cover_nothing_and_are_within(seed: int, n: int):
    points = np.random.default_rng(seed).random((n, 2)) * SIZE
    texts = [f"{i // 8}.{i % 8}" for i in range(n)]
    sides = label_sides(points, texts, size=SIZE, radii=np.full(n, 6.0))
    assert len(sides) == n
    found = boxes(points, texts, sides, 6.0)
    marks = [(x - 6, y - 6, x + 6, y + 6) for x, y in points.tolist()]
    for i, box in found.items():
        assert min(box) >= 0 and box[2] <= SIZE[0] and box[3] <= SIZE[1]
        assert all(apart(box, mark) for j, mark in enumerate(marks) if i != j)
        assert all(apart(box, other) for j, other in found.items() if i != j)


def test_by_hand():
    points = np.array([[100.0, 100.0], [290.0, 100.0], [115.0, 100.0]])
    sides = label_sides(points, ["0.0", "0.1", "0.2"], size=SIZE, radii=np.full(3, 6.0))
    assert sides == ["middle left", "middle left", "middle right"]  # a neighbour, and the edge, stand in the way
    same = np.full((9, 2), 50.0)
    assert label_sides(same, ["x"] * 9, size=SIZE, radii=np.full(9, 6.0))[0] == "middle right"
