"""What is kept in memory of one view is never shown in another: each page draws the same with and without it.

Every other view of a page, and every one where tests are full, is drawn twice: after all others, which left in the
caches what they computed, and in an app that has computed nothing. A key that leaves out what a thing depends on shows
as a difference.
"""

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
import streamlit as st

from pages.shared.page import pages
from tests.pages.conftest import EXAMPLES, TARGETS, app_at, protos_of
from tests.pages.train.small_films import save_run

pytestmark = pytest.mark.usefixtures("three_kinds_here")

View = Mapping[str, str]
TEXT, TARGET, HEAD = {"text": EXAMPLES[1]}, {"target": TARGETS[0]}, {"attention": "decoder", "layer": "0", "head": "2"}
USUAL: tuple[View, ...] = ({}, TEXT, TARGET, HEAD, {"model": "tales"})
OFF, B_TEXT = {"bchange": "off:cross.1.2"}, {"btext": EXAMPLES[1]}
VIEWS: dict[str, list[View]] = {
    "heads": [
        *({"measure": "entropy", "across": "rollout", **view} for view in USUAL),
        *({"across": "flow"}, {"show": "scores"}, {"show": "written"}, {"unit": "word"}),
        *({"hide": "special", "rest": "share"}, {"mean": "layer"}, {"mean": "all"}),
    ],
    "steps": [*USUAL, {"model": "gaps"}],
    "architecture": [{"show": "text", **view} for view in (*USUAL, {"model": "gaps"})],
    "masks": [
        *({"part": "leak", **view} for view in (TEXT, TARGET)),
        *({}, {"preset": "window"}, {"preset": "window", "size": "3"}, {"preset": "forgotten"}),
        *({"edits": "1.0"}, {"edits": "1.0", "layers": "one"}, {"edits": "1.0", "layers": "one", "layer": "0"}),
    ],
    "positions": [
        *({"part": "products", "encoding": encoding} for encoding in ("alibi", "learned")),
        *({"part": "products", "n": "9"}, {"part": "products", "n": "9", "width": "6"}),
        *({"part": "model", "in": part, **view} for part, view in product(("sources", "shuffle"), USUAL[1:])),
    ],
    "decoding": [
        *({"part": part, **view} for part, view in product(("alignment", "beams", "cache", "led"), (TEXT, TARGET))),
        *({"part": "beams", **search} for search in ({"beams": "2"}, {"penalty": "2"}, {"form": "length"})),
        *({"temperature": "1", "seed": "3"}, {"model": "gaps"}),
    ],
    "compare": [
        *({"view": view, **B_TEXT, **more} for view, more in product(("map", "layers", "texts"), (TEXT, OFF))),
        *({"view": "effect", **OFF}, {"view": "effect", **OFF, **TARGET}, {**B_TEXT, "view": "map", "by": "writing"}),
        *({**B_TEXT, **view} for view in (*USUAL, OFF, {"btext": EXAMPLES[2]}, {"bhead": "cross.0.1"})),
    ],
    "film": [
        {"run": run, **view} for run in ("one", "two", "tales") for view in ({}, TEXT, {"layer": "0", "head": "1"})
    ],
}
ALL_PAGES = {"model", "text", "target", "attention", "layer", "head", "run"}


def drawn(page: str, view: View) -> list[str]:
    """All that a page sends, but times; of Decoding no digits, whose last ones differ by what was computed before."""
    app = app_at(page, view).run()
    assert not [error.stack_trace for error in app.exception]
    noise = r"[\d,.]+ ms|\d{13,}" + r"|\d+\.\d+(e-\d+)?" * (page == "decoding")
    return [re.sub(noise, "", str(proto)) for proto in protos_of(app._tree) if proto.ByteSize()]


@pytest.mark.usefixtures("fresh_caches")
@pytest.mark.parametrize("page", VIEWS)
def test_a_view_is_drawn_alike_whatever_was_seen_before(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    views = VIEWS[page] if request.config.getoption("full") else VIEWS[page][::2]
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path))
    if page == "film":
        for seed, name in enumerate(("one", "two")):
            save_run(tmp_path / name, seed=seed)
        save_run(tmp_path / "tales", architecture="decoder_only")
    own = {field.name: field for field in pages()[page].fields}
    for name, value in (item for view in VIEWS[page] for item in view.items()):
        assert name in ALL_PAGES or own[name].read(value) is not None  # what is wrong would be left out, unseen
    after_others = [drawn(page, view) for view in views]
    for view, actual in zip(views, after_others, strict=True):
        st.cache_resource.clear()
        assert actual == drawn(page, view), view
