"""The model of a training is kept under a name, and what came of that is said of this training alone."""

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.train.small_films import save_run


def a_page() -> None:
    """A page that offers to keep the model of the run "one"."""
    from pages.shared import runs
    from pages.train.train import keep

    run = runs.find("one")
    assert run is not None
    keep.offer(run, 60)


def test_what_came_of_it_is_not_said_of_another_run_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "models"))
    save_run(tmp_path / "runs" / "one", steps=(0,))
    app = AppTest.from_function(a_page, default_timeout=60).run()
    assert not app.exception and not app.warning
    app.button[0].click().run()
    assert len(app.run().warning) == 1, "nothing was saved that could be kept, which is said until the next click"
    shutil.rmtree(tmp_path / "runs" / "one")
    save_run(tmp_path / "runs" / "one", steps=(0,))
    app.run()
    assert not app.exception and not app.warning
