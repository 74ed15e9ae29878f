"""The parts of the pages Positions and Masks that train, on experiments that were made before."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.cli.launch import Launcher
from headlight.experiments import variants as experiment_variants
from headlight.experiments.experiment import ExperimentDirectory, ExperimentRequest
from headlight.experiments.work import work
from tests.pages.conftest import OpenApp


def make(place: Path, request: ExperimentRequest) -> Path:
    """Do a whole small experiment in a folder."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment_variants, "_N_HELD_OUT", 4)
        patch.setattr(experiment_variants, "_BATCH_SIZE", 12)
        patch.setattr(experiment_variants, "_PAIRS_OF_A_LENGTH", 2)
        for _ in work(ExperimentDirectory.create(place, request)):
            pass
    torch.set_num_threads(n_threads)
    return place


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
