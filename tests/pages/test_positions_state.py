"""What an address may say of the page Positions."""

import pytest

from pages.shared import positions_state
from pages.shared.fields import Field


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (positions_state.ENCODING, "alibi", "alibi"),
        (positions_state.N, "512", 512),
        (positions_state.WIDTH, "1024", 1024),
        (positions_state.DIMENSIONS, "0.64.0.128", (0, 64, 128)),
        (positions_state.PLACES, "7.12", (7, 12)),
        (positions_state.TOKENS, "0.3", (0, 3)),
        (positions_state.SHIFT, "1", 1),
    ],
)
def test_what_is_read_is_written_so_again(field: Field, text: str, value: object):
    assert field.read(text) == value
    assert field.read(field.write(value)) == value


@pytest.mark.parametrize(
    ("field", "text", "way_out"),
    [
        (positions_state.ENCODING, "waves", "it can be sinusoidal_halves, "),
        (positions_state.N, "513", "a whole number from 1 to 512"),
        (positions_state.N, "0", "from 1 to 512"),
        (positions_state.WIDTH, "7", "an even number from 2 to 1024"),
        (positions_state.WIDTH, "1026", "from 2 to 1024"),
        (positions_state.DIMENSIONS, "1,2", "joined by points"),
        (positions_state.PLACES, "7", "7.12"),
        (positions_state.SEED, "-1", "whole number"),
    ],
)
def test_what_is_wrong_is_told_with_what_would_be_right(field: Field, text: str, way_out: str):
    with pytest.raises(ValueError, match=way_out):
        field.read(text)


def test_every_encoding_has_parts_of_its_own_or_those_of_the_model():
    assert set(positions_state.PARTS_OF) == set(positions_state.ENCODINGS)
    for encoding in positions_state.ENCODINGS:
        parts = positions_state.parts(encoding)
        assert parts[-2:] == ("model", "retrain") and set(parts) <= set(positions_state.PARTS)
