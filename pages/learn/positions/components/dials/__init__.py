"""Rotary positions as dials: one dial per pair of dimensions, with a hand for the query and one for the key."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from headlight.figures.theme import KEY, QUERY
from pages.components.mounting import component
from pages.shared.view.shared_value import SharedValue


def turning_dials(
    *,
    speeds: Float[np.ndarray, " pair"],
    query: Float[np.ndarray, "pair 2"],
    key_vector: Float[np.ndarray, "pair 2"],
    rest: float,
    scale: float,
    places: tuple[int, int],
    n_positions: int,
    names: tuple[str, str],
    key: str,
    on_places: Callable[[], None],
) -> None:
    """Draw the dials; their hands turn with the positions of query and key, which can be played or dragged.

    Args:
        speeds: radians per position of each pair.
        query: the two values of each pair in the query, before rotation.
        key_vector: the same for the key.
        rest: the scaled dot product of the dimensions that are not rotated.
        scale: the factor of the dot product.
        places: the positions of query and key.
        n_positions: number of positions, counted from 0.
        names: labels of the query and of the key.
        key: the component's key.
        on_places: called before the run in which `sent_places` returns the chosen positions.

    Raises:
        ValueError: the lengths of speeds and vectors differ.
    """
    if not len(speeds) == len(query) == len(key_vector):
        raise ValueError(
            f"There are {len(speeds)} speeds, but {len(query)} pairs of the query and {len(key_vector)} of the key; "
            "give one of each."
        )
    data = {
        "speeds": speeds.tolist(),
        "query": query.tolist(),
        "key": key_vector.tolist(),
        "rest": rest,
        "scale": scale,
        "places": _places(key).payload([*places]),
        "n": n_positions,
        "names": list(names),
        "hues": [QUERY, KEY],
    }
    component(__file__, "dials", isolated=True)(key=key, data=data, on_places_change=on_places)


def sent_places(key: str, n_positions: int) -> tuple[int, int] | None:
    """Return the chosen positions of query and key on the dials of this key; None if the browser sent nothing valid."""
    match _places(key).heard():
        case [int(query), int(place)] if 0 <= query < n_positions and 0 <= place < n_positions:
            return query, place
    return None


def _places(key: str) -> SharedValue:
    return SharedValue(key, "places")
