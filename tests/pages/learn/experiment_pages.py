"""Pages that start trainings, without starting any."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headlight.cli.launch import Launcher
from tests.pages.conftest import OpenApp


def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Let the app find its runs in an empty folder and start nothing; return the commands that it would have run."""
    actual: list[list[str]] = []
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)
    monkeypatch.setattr(
        Launcher, "start", lambda self, run, arguments, **options: actual.append([run.name, *arguments])
    )
    return actual


def opened(open_app: OpenApp, page: str, **parameters: str) -> AppTest:
    """Open a page at an address, as a new visitor."""
    app = open_app(page, **parameters)
    assert not app.exception
    return app


def figures(app: AppTest) -> Iterator[Mapping[str, Any]]:
    """Yield the data sent to each live figure."""
    for element in app.get("bidi_component"):
        if element.proto.component_name == "headlight.figure":
            yield json.loads(element.proto.json)
