"""The overview of all heads: a measure, an order and pinned heads reach the browser, and nothing does unasked."""

import json
from typing import Any

import numpy as np
import pytest

from headlight.analysis.heads.measure_texts import MEASURE_TEXTS
from headlight.language import add_catalogues, speaking
from pages.components.mounting import packed
from pages.components.overview import FilmStrip, MeasuredHeads, Pictures, head_overview
from pages.languages import CATALOGUES
from pages.shared.view.chosen_head import HeadChoice
from pages.shared.view.fields import Kept
from tests.pages.learn.bare import drawn_bare, unpacked


def choice(attention: str, layer: int, head: int) -> HeadChoice:
    return HeadChoice(Kept("attention", attention), Kept("layer", layer), Kept("head", head))


def two_attentions(**more: Any) -> Pictures:
    """Pictures of two attentions of one layer and two heads, of 3 by 2 and of 1 by 1 cells."""
    strongest = [[("a", "b", 0.5)] * 2]
    names = {"encoder": (3, 2), "cross": (1, 1)}
    groups = [
        {"attention": name, "title": name, "layers": 1, "heads": 2, "queries": rows, "keys": columns}
        | {"strongest": strongest}
        for name, (rows, columns) in names.items()
    ]
    return Pictures(groups=groups, levels=bytes(range(2 * 3 * 2 + 2 * 1 * 1)), version="1", **more)


def overview(only: list[str] | None = None, **more: Any) -> tuple[dict[str, Any], bytes]:
    """The header and the pictures that the overview of these attentions sends."""
    with drawn_bare() as bare:
        head_overview(two_attentions(only=only), choice("encoder", 0, 1), key="overview", **more)
    return unpacked(bare.components["overview"]["data"])


def test_what_is_kept_for_all_readers_is_said_in_the_language_of_each():
    add_catalogues(CATALOGUES[0])
    for language, message in (("de", "„a“ → „b“ 0,50"), ("en", "“a” → “b” 0.50")):
        with speaking(language):
            assert [group["strongest"] for group in overview()[0]["groups"]] == [[[message, message]]] * 2


def test_by_default_layers_are_rows_and_nothing_is_marked():
    header, levels = overview()
    assert levels == two_attentions().levels
    assert (header["measure"], header["order"], header["pinned"], header["only"]) == (None, "", [], None)
    assert header["canPin"] is False and "film" not in header and header["divided"] is None
    assert header["chosen"]["value"] == {"attention": "encoder", "layer": 0, "head": 1}


def test_a_measure_is_said_for_every_head_and_null_where_it_does_not_apply():
    measure = MEASURE_TEXTS["entropy"]
    measured = MeasuredHeads(
        measure=measure,
        values={"encoder": np.array([[1.5, np.nan]], np.float32)},
        ends=(0.0, 3.25),
        order="descending",
    )
    pinned = [{"attention": "encoder", "layer": 0, "head": 0, "hue": "#C75F12"}]
    header, _ = overview(measured=measured, pinned=pinned, on_pinned=lambda: None, only=["encoder"])
    words = {"name": "attention entropy", "title": measure.meaning, "unit": "nats"}
    payload = {"values": {"encoder": [[1.5, None]], "cross": [[None, None]]}, "ends": [0.0, 3.25]}
    assert header["measure"] == words | payload
    assert header["order"] == "descending"
    assert header["pinned"] == pinned
    assert (header["canPin"], header["only"]) == (True, ["encoder"])
    assert "NaN" not in json.dumps(header)


def test_a_browser_reads_no_nan():
    with pytest.raises(ValueError, match="JSON compliant"):
        packed({"value": float("nan")}, b"")


def two_stacks() -> Pictures:
    """Pictures of two snapshots: of 2 layers by 3 heads, 4 rows by 2 columns, and of 1 by 3."""
    sizes = {"cross": (2, 3, 4, 2), "encoder": (1, 3, 5, 5)}
    groups = [
        {"attention": name, "title": name, "layers": layers, "heads": heads, "queries": rows, "keys": columns}
        for name, (layers, heads, rows, columns) in sizes.items()
    ]
    return Pictures(groups=groups, levels=bytes(2 * (6 * 4 * 2 + 3 * 5 * 5)), version="7", divided=0.25)


def test_the_pictures_of_a_film_are_sent_once_and_beside_what_changes():
    """Of two snapshots, of a text that the model was given 0.25 of."""
    strip = FilmStrip(
        steps=[10, 40],
        step=40,
        strongest=b"strongest",
        labels={"cross": (["q"] * 4, ["k"] * 2), "encoder": (["s"] * 5, ["s"] * 5)},
        lines={"loss": ([3.0, 1.0], (0.5, 4.0))},
        marks=[(1, "A head appears.")],
        on_snapshot=lambda: None,
    )
    with drawn_bare() as bare:
        head_overview(two_stacks(), choice("cross", 1, 2), key="overview", film=strip)
    header, levels = unpacked(bare.components["overview"]["data"])
    assert levels == b"", "the pictures are in a separate component"
    pictures, sent = unpacked(bare.components["film"]["data"])
    assert sent == b"strongest" + two_stacks().levels
    assert (pictures["id"], pictures["frames"]) == (header["film"]["id"], 2)
    assert pictures["groups"] == two_stacks().groups
    played = header["film"]
    assert (played["id"], played["steps"], played["step"]["value"]) == ("7", [10, 40], 40)
    assert played["labels"]["cross"] == {"queries": ["q"] * 4, "keys": ["k"] * 2}
    assert played["lines"] == [{"name": "loss", "values": [3.0, 1.0], "ends": [0.5, 4.0]}]
    assert played["marks"] == [{"place": 1, "words": "A head appears."}]
    assert header["divided"]["share"] == 0.25
