"""How much of an encoding is shown and of which sizes, what an address may say, and the lines of each part."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pages.learn.positions import view_fields
from pages.learn.positions.data import PositionsData
from pages.learn.positions.drawing import lines_of
from pages.shared.models import ModelCard
from pages.shared.view.fields import Field
from tests.pages.learn.bare import run_lines
from tests.pages.learn.positions.conftest import Look


def changed(card: ModelCard, **config: Any) -> ModelCard:
    """A card of another configuration; its weights are not asked for."""
    return replace(card, config=replace(card.config, **config))


@pytest.mark.parametrize(
    ("model", "encoding", "part", "n", "shown"),
    [
        ("en-fr", "sinusoidal_halves", "table", None, 20),
        ("en-fr", "sinusoidal_halves", "shift", 1, 2),
        ("en-fr", "rotary_halves", "waves", None, 128),
        ("en-fr", "alibi", "bias", None, 32),
        ("stories", "learned", "table", 161, 160),
        ("stories", "learned", "table", 159, 159),
    ],
)
def test_as_many_positions_are_shown_as_were_chosen_and_as_there_are(
    look: Look, model: str, encoding: str, part: str, n: int | None, shown: int
):
    assert look(model, encoding, part, n=n).n == shown


def test_of_a_long_learned_table_no_more_is_shown_than_of_others(look: Look, cards: Mapping[str, ModelCard]):
    card = changed(cards["stories"], max_seq_len=2048)
    assert look(card, "learned").n == view_fields.MOST_POSITIONS


def test_a_width_is_the_chosen_one_or_the_heads_own_or_the_usual_one(look: Look, cards: Mapping[str, ModelCard]):
    """Of a model that rotates only a part of each head, that part; of dials no more are drawn than have room."""
    wide = changed(cards["fill-in"], d_head=256)
    for part, chosen, width in (("products", None, 256), ("dials", None, 128), ("dials", 126, 126)):
        assert look(wide, "rotary_halves", part, width=chosen).width == width
    assert look(changed(cards["en-fr"], d_head=64), "rotary_halves", "dials").width == 32
    assert look(changed(cards["fill-in"], d_head=33, rotary_fraction=0.5), "rotary_halves", "dials").width == 16
    assert look("stories", "learned", width=8).width == 128
    assert look("stories", "sinusoidal_halves").width == 512
    assert [look("stories", "sinusoidal_halves", "shift", width=chosen).width for chosen in (None, 6)] == [16, 6]


def test_the_base_is_the_models_for_rotary_encodings_of_a_rotary_model_alone(
    look: Look, cards: Mapping[str, ModelCard]
):
    rotary, other = changed(cards["fill-in"], rotary_base=500.0), cards["en-fr"]
    assert look(rotary, "rotary_interleaved").base == 500
    assert look(rotary, "sinusoidal_halves").base == 10_000
    assert look(other, "rotary_halves").base == 10_000


def test_a_learned_table_is_lacking_where_the_model_has_other_positions(look: Look):
    assert look("en-fr", "learned").lacks_table and not look("stories", "learned").lacks_table
    assert not look("stories", "alibi").lacks_table
    assert look("stories", "learned").is_own and not look("stories", "rotary_halves").is_own


@pytest.mark.parametrize(
    ("model", "attention", "stack"),
    [
        ("en-fr", "encoder", "encoder"),
        ("en-fr", "cross", "decoder"),
    ],
)
def test_the_stack_is_that_of_the_queries(look: Look, model: str, attention: str, stack: str):
    assert look(model, "sinusoidal_halves", attention=attention).stack == stack


def test_a_shift_is_at_most_that_from_the_first_row_to_the_last(look: Look):
    shifts = [look("en-fr", "sinusoidal_halves", "shift", n=4, shift=chosen).shift for chosen in (5, 4, 3, 2)]
    assert shifts == [3, 3, 3, 2]


def test_a_head_turns_its_vectors_where_the_encoding_is_the_models_and_there_is_a_text(
    look: Look, cards: Mapping[str, ModelCard]
):
    own = look("fill-in", "rotary_halves", "dials", vectors="model")
    assert own.has_own_vectors and own.is_of_model
    for other in (
        look("fill-in", "rotary_interleaved", "dials", vectors="model"),
        look("fill-in", "rotary_halves", "dials", vectors="model", text=""),
        look(changed(cards["en-fr"], positions="rotary_halves"), "rotary_halves", vectors="model", attention="cross"),
    ):
        assert not other.has_own_vectors and not other.is_of_model
    pair = look(changed(cards["en-fr"], positions="rotary_halves"), "rotary_halves", attention="decoder")
    assert pair.has_own_vectors
    assert not pair.is_of_model, "one vector twice is what is usual"


def test_the_chosen_tokens_are_the_last_and_the_first_until_others_are_chosen(look: Look):
    data = look("fill-in", "rotary_halves", "dials", text="The cat sleeps.")
    assert data.model_run is not None
    last = len(data.model_run.labels("encoder")[0]) - 1
    for chosen, expected in ((None, (last, 0)), ((1, 2), (1, 2)), ((99, 98), (last, last)), ((0, 0), (0, 0))):
        view_fields.TOKENS.set(chosen)
        assert data.chosen_tokens == expected


@pytest.mark.parametrize(
    ("field", "text", "way_out"),
    [
        (view_fields.N, "513", "a whole number from 1 to 512"),
        (view_fields.WIDTH, "7", "an even number from 2 to 1024"),
        (view_fields.DIMENSIONS, "1,2", "joined by dots"),
        (view_fields.PLACES, "7", "7.12"),
    ],
)
def test_what_is_wrong_is_told_with_what_would_be_right(field: Field, text: str, way_out: str):
    with pytest.raises(ValueError, match=way_out):
        field.read(text)


def run_them(data: PositionsData) -> tuple[dict[str, Any], list[str]]:
    names, printed = run_lines(lines_of(data))
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
    of = {"text": "The cat sleeps.", "layer": 2, "head": 1, "vectors": "model", "tokens": (3, 1)}
    lines = lines_of(look("fill-in", "rotary_halves", "dials", n=4, **of)).replace('"', "'")
    for words in ("attention='encoder'", "layer=2", "head=1", "query=3", "key=1", "np.arange(-3, 4)"):
        assert words in lines
    lines = lines_of(look("induction", "alibi", "bias", n=5, slope=7))
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
    actual = names["found"]
    assert printed[0] == str((actual.text, actual.output)) and "seed=3" in lines_of(data)
    assert str(actual.shuffled[2, 1]) in "\n".join(printed)


def test_what_is_read_is_written_so_again():
    for field, text, value in (
        (view_fields.WIDTH, "1024", 1024),
        (view_fields.DIMENSIONS, "0.64.0.128", (0, 64, 128)),
        (view_fields.PLACES, "7.12", (7, 12)),
        (view_fields.TOKENS, "0.3", (0, 3)),
    ):
        assert field.read(text) == value == field.read(field.write(value))
