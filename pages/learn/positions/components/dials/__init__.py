"""Rotary positions as dials: each pair of numbers a dial, with a hand of the query and one of the key."""

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
    """Draw the dials; their hands turn with the positions of query and key, which play or are dragged.

    Args:
        speeds: radians a position, of each pair.
        query: the query's two numbers of each pair, before they are turned.
        key_vector: likewise of the key.
        rest: the product of what is not turned, scaled.
        scale: of the product.
        places: the positions of query and key.
        n_positions: that there are, from 0 on.
        names: what the query and the key are of.
        key: the component's key.
        on_places: called before the run in which `sent_places` gives where a person put query and key.

    Raises:
        ValueError: speeds and vectors do not fit together.
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
    """Return where a person put query and key on the dials of this key; None where nothing sensible was sent."""
    match _places(key).heard():
        case [int(query), int(place)] if 0 <= query < n_positions and 0 <= place < n_positions:
            return query, place
    return None


def _places(key: str) -> SharedValue:
    return SharedValue(key, "places")
