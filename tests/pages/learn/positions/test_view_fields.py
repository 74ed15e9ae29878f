"""What an address may say of the page Positions."""

import pytest

from pages.learn.positions import view_fields
from pages.shared.view.fields import Field


def test_what_is_read_is_written_so_again():
    for field, text, value in (
        (view_fields.WIDTH, "1024", 1024),
        (view_fields.DIMENSIONS, "0.64.0.128", (0, 64, 128)),
        (view_fields.PLACES, "7.12", (7, 12)),
        (view_fields.TOKENS, "0.3", (0, 3)),
    ):
        assert field.read(text) == value == field.read(field.write(value))


@pytest.mark.parametrize(
    ("field", "text", "way_out"),
    [
        (view_fields.N, "513", "a whole number from 1 to 512"),
        (view_fields.N, "0", "from 1 to 512"),
        (view_fields.WIDTH, "7", "an even number from 2 to 1024"),
        (view_fields.WIDTH, "1026", "from 2 to 1024"),
        (view_fields.DIMENSIONS, "1,2", "joined by points"),
        (view_fields.PLACES, "7", "7.12"),
    ],
)
def test_what_is_wrong_is_told_with_what_would_be_right(field: Field, text: str, way_out: str):
    with pytest.raises(ValueError, match=way_out):
        field.read(text)


def test_every_encoding_has_parts_of_its_own_or_those_of_the_model():
    assert set(view_fields.PARTS_OF) == set(view_fields.ENCODINGS)
    for encoding in view_fields.ENCODINGS:
        parts = view_fields.parts(encoding)
        assert parts[-2:] == ("model", "retrain") and set(parts) <= set(view_fields.PARTS)
