"""The Film page on top of small runs, one of each architecture."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headlight.cli.launch import Launcher
from headlight.cli.main import main
from tests.pages.conftest import OpenApp, app_at
from tests.pages.train.film_page import ARCHITECTURES, Models
from tests.pages.train.small_films import save_run


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Models]:
    """A folder with a run of each architecture, and the models of their snapshots."""
    folder = tmp_path_factory.mktemp("runs")
    return folder, {name: save_run(folder / name, architecture=kind) for name, kind in ARCHITECTURES.items()}


@pytest.fixture
def place(trained: tuple[Path, Models], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the runs, which may be changed; there are no models, and nothing is started ahead."""
    shutil.copytree(trained[0], tmp_path / "runs")
    app_finds(tmp_path / "runs", monkeypatch)
    return tmp_path / "runs"


def app_finds(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(runs / "none"))
    monkeypatch.setenv("HEADLIGHT_RUNS", str(runs))
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)


@pytest.fixture
def train_page(tmp_path: Path, checkpoints: Path, open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The Train page before its first run; nothing was ever trained, and nothing is started ahead."""
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)
    return app_at("train", {})


@pytest.fixture
def open_film(
    trained: tuple[Path, Models], open_app: OpenApp, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> OpenApp:
    """Opens the page, as a new visitor, on `place` where a test asks for that, else on runs that many tests read."""
    if "place" in request.fixturenames:
        request.getfixturevalue("place")
    else:
        app_finds(trained[0], monkeypatch)

    def open_at(**parameters: str) -> AppTest:
        app = open_app("film", **parameters)
        assert not app.exception
        return app

    return open_at


@pytest.fixture
def analyse(monkeypatch: pytest.MonkeyPatch) -> Callable[[AppTest], AppTest]:
    """Lets an analysis be done by this process, which has loaded torch, and the page be drawn again."""
    actual: dict[Path, Sequence[str]] = {}
    monkeypatch.setattr(Launcher, "start", lambda self, run, arguments, **options: actual.update({run: arguments}))

    def analyse(app: AppTest) -> AppTest:
        while actual:
            assert main(actual.popitem()[1]) == 0
            app.run()
        assert not app.exception
        return app

    return analyse
