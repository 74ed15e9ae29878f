"""The page Server says what the server keeps, trains and noticed."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import cache, health
from tests.pages.conftest import words_of

pytestmark = pytest.mark.usefixtures("fresh_caches")


def tables(app: AppTest) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table, by the name of its first column."""
    return {frame.value.columns[0]: frame.value.to_dict("records") for frame in app.dataframe}


def test_it_says_what_is_kept_and_how_long_pages_took(open_app: Callable[..., AppTest], three_kinds_here: object):
    app = open_app("heads", text="The cat sees the dog.")
    app.run()
    app.switch_page("models/server/page.py").run()
    assert not app.exception
    actual = tables(app)
    (read,) = (row for row in actual["store"] if row["store"] == "model runs")
    assert read["entries"] == 1 and read["MiB"] > 0 and read["evicted"] == 0
    most = cache.budget() / 2**20
    (line,) = (caption.value for caption in app.caption if "MiB cached" in caption.value)
    assert f" of {most:,.0f} MiB cached" in line and "HEADLIGHT_MEMORY" in line
    (heads,) = (row for row in actual["page"] if row["page"] == "Heads")
    assert heads["runs"] == 2 and 0 < heads["median"] <= heads["95%"] <= heads["longest"]
    assert "None since the server started." in [caption.value for caption in app.caption]


def test_it_says_what_failed_and_needs_no_model(
    open_app: Callable[..., AppTest], tmp_path: object, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    health.note(RuntimeError("the disk is full"))
    app = open_app("server")
    assert not app.exception and "For server administrators" in words_of(app)
    assert [failure["error"] for failure in tables(app)["time (UTC)"]] == ["RuntimeError: the disk is full"]
