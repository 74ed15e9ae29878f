"""The parts of the pages Positions and Masks that train, under AppTest: what is promised, started and drawn."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from headlight.experiments import variants as experiment_variants
from headlight.experiments.experiment import USUAL_VARIANTS, VARIANTS, ExperimentDirectory, ExperimentRequest
from headlight.experiments.work import work
from pages.learn import experiment_runs
from pages.shared import code_expander
from tests.pages.conftest import OpenApp, shown_code, url_of, words_of
from tests.pages.learn.experiment_pages import figures, here, opened
from transformer_core.errors import Message
from transformer_core.training.run import commands as run_commands

pytestmark = pytest.mark.usefixtures("checkpoints")
MASKS, LATER, POSITIONS = "masks-20260101-120000", "masks-20260101-120001", "positions-20260101-120000"
REQUESTS = {
    MASKS: ExperimentRequest(kind="masks", task="copy", variants=VARIANTS["masks"], seed=0, steps=20),
    POSITIONS: ExperimentRequest(kind="positions", task="reverse", variants=("learned", "none"), seed=4, steps=20),
}


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


@pytest.fixture(scope="module")
def experiments(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Both experiments, made once."""
    folder = tmp_path_factory.mktemp("experiments")
    return {name: make(folder / name, request) for name, request in REQUESTS.items()}


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    return here(tmp_path, monkeypatch)


@pytest.fixture
def masks(experiments: Mapping[str, Path], commands: list[list[str]], tmp_path: Path) -> Path:
    """The experiment, where the app looks for it."""
    return Path(shutil.copytree(experiments[MASKS], tmp_path / "runs" / ".experiments" / MASKS))


@pytest.fixture
def positions(experiments: Mapping[str, Path], commands: list[list[str]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(experiments[POSITIONS], tmp_path / "runs" / ".experiments" / POSITIONS))


def test_what_each_writes_stands_beside_what_was_asked(open_app: OpenApp, masks: Path):
    app = opened(open_app, "masks", part="training", experiment=MASKS)
    words = words_of(app)
    assert "Copy letters, seed 0: step 20 of 20 each" in words
    last = json.loads((masks / "metrics.jsonl").read_text().splitlines()[-1])
    for place, (source, target) in enumerate(last["samples"]):
        assert source == target
        row = words[words.index(f"<tr><td><bdi>{source}</bdi></td>") :].split("</tr>")[0]
        for variant in VARIANTS["masks"]:
            output = last["outputs"][variant][place]
            assert (f"<bdi>{output}</bdi>" if output else "nothing") in row
    for variant in VARIANTS["masks"]:
        assert f"<td>{last['held_out'][variant]['loss']:.3f}</td>" in words
    (sent,) = figures(app)
    assert [trace["name"] for trace in json.loads(sent["figure"])["data"][:3]] == [
        "correct mask",
        "no causal mask",
        "targets not shifted",
    ]


def test_an_experiment_in_line_says_who_is_before_it_and_is_stopped_by_its_button(open_app: OpenApp, masks: Path):
    directory = ExperimentDirectory.create(masks.with_name(LATER), REQUESTS[MASKS])
    directory.write_status("queued", step=0, reason=Message("2"))
    app = opened(open_app, "masks", part="training", experiment=LATER)
    assert "and 2 more are queued before this one" in words_of(app)
    assert app.button(key="masks-experiment-start").disabled
    app.button(key="masks-experiment-stop").click().run()
    assert not app.exception
    assert run_commands.waiting(directory.path) == ["stop"]
    directory.write_status("stopped", step=0)
    directory.release()
    app.run()
    assert "Stopped before it started." in words_of(app)
    assert not app.button(key="masks-experiment-start").disabled


def test_who_only_looks_may_start_an_experiment_and_stop_none(open_app: OpenApp, masks: Path):
    directory = ExperimentDirectory.create(masks.with_name(LATER), REQUESTS[MASKS])
    directory.write_status("running", step=3)
    app = opened(open_app, "masks", part="training")
    assert "Latest on this machine: Copy letters, seed 0, step 3 of 20" in words_of(app)
    assert not app.button(key="masks-experiment-start").disabled
    assert "masks-experiment-stop" not in [button.key for button in app.button]
    directory.release()  # its process is killed
    app.run()
    assert "its process ended unexpectedly" in words_of(app)


def test_a_first_visitor_is_told_what_will_happen_and_starts_what_is_chosen(
    open_app: OpenApp, commands: list[list[str]]
):
    app = opened(open_app, "positions", part="retrain")
    assert "Trains 5 small encoder-decoders in turn, 240 steps each" in words_of(app)
    assert not [*figures(app)]
    app.segmented_control(key="positions-experiment-task").set_value("sort")
    app.number_input(key="positions-experiment-seed").set_value(7).run()
    app.button(key="positions-experiment-start").click().run()
    assert not app.exception
    ((name, *arguments),) = commands
    request = ExperimentRequest(kind="positions", task="sort", variants=USUAL_VARIANTS["positions"], seed=7, steps=240)
    assert arguments[: len(request.arguments)] == request.arguments
    assert experiment_runs.POSITIONS.read(name) == name == url_of(app)["experiment"]


def test_as_many_encodings_as_take_turns_in_time(open_app: OpenApp, commands: list[list[str]]):
    app = opened(open_app, "positions", part="retrain")
    app.pills(key="positions-experiment-variants").set_value([]).run()
    assert "Choose at least one to train." in words_of(app)
    assert app.button(key="positions-experiment-start").disabled
    app.pills(key="positions-experiment-variants").set_value(
        [*app.pills(key="positions-experiment-variants").options]
    ).run()
    assert "Choose at most 6" in words_of(app)
    assert app.button(key="positions-experiment-start").disabled


def test_a_link_shows_the_experiment_with_its_numbers(open_app: OpenApp, positions: Path):
    app = opened(open_app, "positions", part="retrain", experiment=POSITIONS)
    words = words_of(app)
    assert "Reverse letters, seed 4: step 20 of 20 each" in words
    assert shown_code(app, code_expander.COMMAND) == REQUESTS[POSITIONS].command
    curves, lengths = (json.loads(sent["figure"]) for sent in figures(app))
    for figure in (curves, lengths):
        assert [trace["name"] for trace in figure["data"][:2]] == ["learned", "no positions"]
    assert url_of(app)["experiment"] == POSITIONS
    app = opened(open_app, "positions", part="retrain")
    assert len([*figures(app)]) == 2 and "experiment" not in url_of(app)


def test_an_experiment_that_is_gone_is_told_in_a_sentence(open_app: OpenApp, commands: list[list[str]]):
    app = opened(open_app, "positions", part="retrain", experiment=POSITIONS)
    assert f"The experiment “{POSITIONS}” no longer exists" in words_of(app)
    assert not app.button(key="positions-experiment-start").disabled
