"""The overview of all heads: a measure, an order and pinned heads reach the browser, and nothing does unasked."""

import json
import struct
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.overview import head_overview
from tests.pages.conftest import component, overview_of


def two_attentions() -> dict[str, Any]:
    """What every overview is told: two attentions of one layer and two heads, pictures of 3 by 2 and of 1 by 1."""
    strongest = [[("a", "b", 0.5)] * 2]
    names = {"encoder": (3, 2), "cross": (1, 1)}
    return {
        "groups": [
            {"attention": name, "title": name, "layers": 1, "heads": 2, "queries": rows, "keys": columns}
            | {"strongest": strongest}
            for name, (rows, columns) in names.items()
        ],
        "levels": bytes(range(2 * 3 * 2 + 2 * 1 * 1)),
        "chosen": {"attention": "encoder", "layer": 0, "head": 1},
        "version": "1",
        "key": "overview",
    }


def plain() -> None:
    """A page with nothing asked for."""
    from pages.components.overview import head_overview
    from tests.pages.components.test_overview import two_attentions

    head_overview(**two_attentions(), on_chosen=lambda: None)


def measured() -> None:
    """A page with all that can be asked for."""
    import numpy as np

    from pages.components.overview import Measure, PinnedHead, head_overview
    from tests.pages.components.test_overview import two_attentions

    head_overview(
        **two_attentions(),
        on_chosen=lambda: None,
        measure=Measure(
            name="entropy",
            title="How widely a head looks.",
            unit="nats",
            low="looks at one token",
            high="looks at all",
            values={"encoder": np.array([[1.5, np.nan]], dtype=np.float32)},
            ends=(0.0, float(np.float32(3.25))),
        ),
        order="descending",
        pinned=[PinnedHead(attention="encoder", layer=0, head=0, hue="#C75F12")],
        on_pinned=lambda: None,
        only=["encoder"],
    )


def german() -> None:
    """The same for a reader of German."""
    from pathlib import Path

    from pages.components.overview import head_overview
    from tests.pages.components.test_overview import two_attentions
    from transformer_core.language import add_catalogues, speaking

    add_catalogues(Path("pages/languages").resolve())
    with speaking("de"):
        head_overview(**two_attentions(), on_chosen=lambda: None)


def test_what_is_kept_for_all_readers_is_said_in_the_language_of_each():
    for page, said in ((german, "„a“ → „b“ 0.50"), (plain, "“a” → “b” 0.50")):
        header, _ = overview_of(AppTest.from_function(page).run())
        assert [group["strongest"] for group in header["groups"]] == [[[said, said]]] * 2


def test_by_default_layers_are_rows_and_nothing_is_marked():
    header, levels = overview_of(AppTest.from_function(plain).run())
    assert levels == two_attentions()["levels"]
    said = {"strongest": [["“a” → “b” 0.50"] * 2]}
    assert header["groups"] == [group | said for group in two_attentions()["groups"]]
    assert (header["measure"], header["order"], header["pinned"], header["only"]) == (None, "", [], None)
    assert header["canPin"] is False


def test_a_measure_is_said_for_every_head_and_null_where_it_does_not_apply():
    header, _ = overview_of(AppTest.from_function(measured).run())
    assert header["measure"] == {
        "name": "entropy",
        "title": "How widely a head looks.",
        "unit": "nats",
        "low": "looks at one token",
        "high": "looks at all",
        "values": {"encoder": [[1.5, None]], "cross": [[None, None]]},
        "ends": [0.0, 3.25],
    }
    assert header["order"] == "descending"
    assert header["pinned"] == [{"attention": "encoder", "layer": 0, "head": 0, "hue": "#C75F12"}]
    assert (header["canPin"], header["only"]) == (True, ["encoder"])
    assert "NaN" not in json.dumps(header)


def test_an_order_needs_a_measure():
    with pytest.raises(ValueError, match="without a measure"):
        head_overview(**two_attentions(), on_chosen=lambda: None, order="ascending")


def two_stacks() -> dict[str, Any]:
    """What the overview of a film is told: pictures of 2 layers by 3 heads, 4 rows by 2 columns, and of 1 by 3."""
    sizes = {"cross": (2, 3, 4, 2), "encoder": (1, 3, 5, 5)}
    return {
        "groups": [
            {"attention": name, "title": name, "layers": layers, "heads": heads, "queries": rows, "keys": columns}
            for name, (layers, heads, rows, columns) in sizes.items()
        ],
        "levels": bytes(2 * (6 * 4 * 2 + 3 * 5 * 5)),
        "chosen": {"attention": "cross", "layer": 1, "head": 2},
        "version": "7",
        "key": "overview",
    }


def film() -> None:
    """A page with a film of two snapshots, of a text that the model was given 0.25 of."""
    from pages.components.overview import FilmStrip, head_overview
    from tests.pages.components.test_overview import two_stacks

    strip = FilmStrip(
        steps=[10, 40],
        step=40,
        strongest=b"strongest",
        labels={"cross": (["q"] * 4, ["k"] * 2), "encoder": (["s"] * 5, ["s"] * 5)},
        lines={"loss": ([3.0, 1.0], (0.5, 4.0)), "entropy": ([1.0, 2.0], (0.0, 2.5))},
        marks=[(1, "A head appears.")],
        on_snapshot=lambda: None,
    )
    head_overview(**two_stacks(), on_chosen=lambda: None, film=strip, given=0.25)


def test_the_pictures_of_a_film_are_sent_once_and_beside_what_changes():
    app = AppTest.from_function(film, default_timeout=60).run()
    assert not app.exception
    header, levels = overview_of(app)
    assert levels == b"", "the pictures are in a component of their own"
    sent = component(app, "film").bytes
    (length,) = struct.unpack("<I", sent[:4])
    pictures = json.loads(sent[4 : 4 + length])
    assert sent[4 + length :] == b"strongest" + two_stacks()["levels"]
    assert pictures == {
        "id": header["film"]["id"],
        "frames": 2,
        "groups": [
            {"attention": "cross", "heads": 6, "rows": 4, "columns": 2},
            {"attention": "encoder", "heads": 3, "rows": 5, "columns": 5},
        ],
    }
    played = header["film"]
    assert (played["id"], played["steps"], played["step"]["value"]) == ("7", [10, 40], 40)
    assert played["labels"]["cross"] == {"queries": ["q"] * 4, "keys": ["k"] * 2}
    assert played["lines"] == [
        {"name": "loss", "values": [3.0, 1.0], "ends": [0.5, 4.0]},
        {"name": "entropy", "values": [1.0, 2.0], "ends": [0.0, 2.5]},
    ]
    assert played["marks"] == [{"place": 1, "words": "A head appears."}]
    assert header["given"]["share"] == 0.25
    assert header["chosen"]["value"] == two_stacks()["chosen"]


def test_without_a_film_nothing_is_said_of_one_and_colors_are_those_of_both_themes():
    app = AppTest.from_function(plain).run()
    header, _ = overview_of(app)
    assert "film" not in header and header["given"] is None
    assert len(app.get("bidi_component")) == 1
    light, dark = (header["scales"][name] for name in ("light", "dark"))
    assert light["sequential"] != dark["sequential"] and light["forbidden"] != dark["forbidden"]
    assert header["chosen"]["value"] == {"attention": "encoder", "layer": 0, "head": 1}
