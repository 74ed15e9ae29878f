"""Labels beside the points of a scatter: those for which there is room, each on a side where it covers nothing."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from transformer_core.figures.labels import LINE, text_width

_LETTER = 0.85  # the width of a letter, in those of tick texts
_SIDES = {  # by plotly's names: where a label's middle lies, in its widths and heights from the edge of the point
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, -1),
    "bottom center": (0, 1),
}


def label_sides(
    points: Float[np.ndarray, "point 2"],
    texts: Sequence[str],
    *,
    size: tuple[float, float],
    radii: Float[np.ndarray, " point"],
) -> list[str]:
    """Return on which side of each point its label stands, "" where it would cover another point or label.

    Args:
        points: in px, from the top left.
        texts: the labels; those of the first points have the first choice.
        size: px across and down that there are.
        radii: px from the middle of each point to where a label may begin.
    """
    marks = np.concatenate([points - radii[:, None], points + radii[:, None]], axis=1)  # left, top, right, bottom
    boxes: list[np.ndarray] = []
    sides = []
    for i, text in enumerate(texts):
        half = np.array([_LETTER * text_width(text) / 2, LINE / 2])
        others = np.delete(marks, i, axis=0)
        taken = np.concatenate([others, np.array(boxes).reshape(-1, 4)])
        for side, direction in _SIDES.items():
            middle = points[i] + np.array(direction) * (half + radii[i])
            box = np.concatenate([middle - half, middle + half])
            if (box[:2] >= 0).all() and (box[2:] <= size).all() and not _overlaps(box, taken):
                boxes.append(box)
                sides.append(side)
                break
        else:
            sides.append("")
    return sides


def _overlaps(box: Float[np.ndarray, " 4"], taken: Float[np.ndarray, "box 4"]) -> bool:
    """Whether a box has a part in common with any of the others."""
    return bool(((box[:2] < taken[:, 2:]) & (box[2:] > taken[:, :2])).all(axis=1).any())
