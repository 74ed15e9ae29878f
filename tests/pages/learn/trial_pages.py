"""The parts of the pages Positions and Masks that train, on trials that were made before."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from transformer_core.training.run.launch import Launcher
from transformer_core.training.trial import arms as trial_arms
from transformer_core.training.trial.directory import TrialDirectory
from transformer_core.training.trial.trial import TrialRequest
from transformer_core.training.trial.work import work

OpenApp = Callable[..., AppTest]


def make(place: Path, request: TrialRequest) -> Path:
    """Do a whole small trial in a folder."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_arms, "_N_HELD_OUT", 4)
        patch.setattr(trial_arms, "_BATCH_SIZE", 12)
        patch.setattr(trial_arms, "_PAIRS_OF_A_LENGTH", 2)
        for _ in work(TrialDirectory.create(place, request)):
            pass
    torch.set_num_threads(n_threads)
    return place


def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Let the app find its runs in an empty place and start nothing; return what it would have started."""
    asked: list[list[str]] = []
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)
    monkeypatch.setattr(Launcher, "start", lambda self, run, arguments: asked.append([run.name, *arguments]))
    return asked


def opened(open_app: OpenApp, page: str, **parameters: str) -> AppTest:
    """Open a page at an address, as a new visitor."""
    app = open_app()
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page(f"learn/{page}.py").run()
    assert not app.exception
    return app


def figures(app: AppTest) -> Iterator[Mapping[str, Any]]:
    """Yield what was sent to each live figure."""
    for element in app.get("bidi_component"):
        if element.proto.component_name == "headlight.figure":
            yield json.loads(element.proto.json)
