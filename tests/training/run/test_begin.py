"""From a request to a job: the command that reproduces it, and errors of runs that cannot be resumed."""

import json
import shlex
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.training.small_runs import MODEL, READING, begin, corpus, go_on, standing, work
from transformer_core.cli.settings import parse_settings
from transformer_core.corpora.reading import CorpusReading
from transformer_core.errors import ConfigError, HeadlightError, RunError
from transformer_core.model.presets import PRESETS
from transformer_core.training.presets import preset_training
from transformer_core.training.run import begin as beginning
from transformer_core.training.run.begin import command, extended_request
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.request import Settings

__all__ = ["corpus"]  # a fixture


@pytest.mark.parametrize(
    "training",
    [
        {"steps": 7, "seed": 3},
        {"rate_changes": ((3, 0.1 + 0.2), (8, 1e-7), (12, 2.0))},
        {"optimizer": "adamw", "weight_decay": 0.1 + 0.2, "clip_norm": None, "precision": "bf16"},
        {"schedule": "cosine", "learning_rate_floor": 1 / 3, "adam_eps": 1e-12, "film_megabytes": 0},
    ],
)
def test_the_command_says_all_that_differs_from_the_preset(tmp_path: Path, corpus: Path, training: dict[str, Any]):
    job = begin(tmp_path / "a run", corpus, **training)
    request = job.directory.request
    job.directory.release()
    further = extended_request(request, tmp_path / "a run", replace(request.training, steps=99))
    assert "--steps 99" in further.command
    assert further == replace(request, training=further.training, command=further.command)
    parts = (request.corpus, request.preset, request.model, request.training, request.reading)
    assert command(tmp_path / "a run" / ".." / "a run", *parts) == request.command  # two names of one folder
    words = shlex.split(request.command)
    assert words[words.index("--run") + 1] == "runs/a run"
    assigned = parse_settings([value for flag, value in pairwise(words) if flag == "--set"])
    named: dict[str, Any] = {flag[2:]: int(value) for flag, value in pairwise(words) if flag in ("--steps", "--seed")}
    again = replace(preset_training("tiny-decoder", str(corpus)), **assigned.training, **named)
    assert again == request.training
    tokens = ("pad_id", "bos_id", "eos_id")
    preset = PRESETS["tiny-decoder"](request.model.vocab_size).changed(**assigned.model)
    assert replace(preset, **{name: getattr(request.model, name) for name in tokens}) == request.model
    assert {"d_model", "n_heads"} <= MODEL.keys() & assigned.model.keys() <= request.model.to_dict().keys()
    assert assigned.reading == READING


@pytest.mark.parametrize(
    "changes",
    [
        {"d_model": 64, "tie_embeddings": "none"},
        {"d_model": 64, "d_head": 32},
        {"n_heads": 2, "n_kv_heads": 1},
    ],
)
def test_the_command_makes_the_same_model(tmp_path: Path, changes: dict[str, Any]):
    """Also where the number is the preset's, and another would follow from what was changed."""
    preset, training = PRESETS["tiny-decoder"](30), preset_training("tiny-decoder", "dates")
    model = preset.changed(**changes)
    words = shlex.split(command(tmp_path, "dates", "tiny-decoder", model, training, CorpusReading()))
    assigned = parse_settings([value for flag, value in pairwise(words) if flag == "--set"])
    assert preset.changed(**assigned.model) == model


def test_a_model_for_which_there_is_no_memory_is_refused_in_a_sentence(tmp_path: Path, corpus: Path):
    large = Settings(model={**MODEL, "d_ff": 10**12}, training={}, reading=READING)
    with pytest.raises(RunError, match="not enough memory for this model; choose a smaller d_model"):
        beginning.begin(tmp_path / "run", corpus_name=str(corpus), preset="tiny-decoder", settings=large)
    with pytest.raises(ConfigError, match=r"^compile only pays off .*division=stream"):
        begin(tmp_path / "run", corpus, compile=True)
    assert not (tmp_path / "run").exists()


def break_metrics(run: Path) -> None:
    (run / "metrics.jsonl").write_text('{"step": 1}\n{{{\n{"step": 2}\n')


def break_optimizer(run: Path) -> None:
    path = run / "last" / "optimizer.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


def break_position(run: Path) -> None:
    path = run / "last" / "training.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"position": {"epoch": 0, "index": 10**6}}))


def break_weights(run: Path) -> None:
    path = run / "last" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


def test_a_run_that_cannot_go_on_says_why_and_lets_go(tmp_path: Path, corpus: Path):
    job = begin(tmp_path / "whole", corpus)
    with pytest.raises(RunError, match="already contains a run"):
        begin(tmp_path / "whole", corpus)
    with pytest.raises(RunError, match=r"being trained by process \d+ \(step 0\); stop that one first"):
        go_on(tmp_path / "whole")
    job.directory.release()
    work(go_on(tmp_path / "whole"), until=6)  # that was never trained
    for break_it in (break_metrics, break_optimizer, break_weights, break_position):
        run = Path(shutil.copytree(tmp_path / "whole", tmp_path / break_it.__name__))
        break_it(run)
        for _ in range(2):  # it can be tried again: nobody holds the run
            with pytest.raises(HeadlightError) as caught:
                go_on(run)
            assert standing(run) == ("failed", 6, str(caught.value))
    older = tmp_path / "whole" / "run.json"  # which says nothing of how its corpus is read
    older.write_text(json.dumps({name: v for name, v in json.loads(older.read_text()).items() if name != "reading"}))
    assert RunDirectory.open(tmp_path / "whole").request.reading == CorpusReading()
