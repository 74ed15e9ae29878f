"""A model without normalization, compiled from a program, on every page that shows models."""

from itertools import cycle
from pathlib import Path

import pytest

from pages.shared.page import pages
from tests.pages.conftest import app_at, words_of
from tests.programs.compiled_examples import example
from transformer_core.checkpoints.compiled import save_compiled

STACKS = {"reverse": "encoder", "induction": "decoder"}
SHOWN = [page.url for page in pages().values() if page.subject in ("text", "stage", "model", "models")]


@pytest.fixture(scope="module")
def compiled_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("compiled")
    for name in STACKS:
        save_compiled(place / name, *example(name), title=name.capitalize(), examples=["a b c a b"])
    return place


@pytest.mark.parametrize(("url", "name"), [*zip(SHOWN, cycle(STACKS))])
def test_each_page_shows_it(url: str, name: str, compiled_models: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(compiled_models))
    zoom = {"zoom": f"{STACKS[name]}.0.self_attn.0"} if url == "start" else {}
    app = app_at(url, {"model": name} | zoom).run()
    assert not [*app.exception, *app.error, *app.warning]
    assert "hl-heading" in words_of(app)
