"""Why a training does not begin, go on or end well, in German: what its own process says, and what is read of another.

What goes into files is a template and its values, so that each reader reads their own language.
"""

import json
import math
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from tests.german import in_german
from transformer_core.corpora.batching import PairBatches
from transformer_core.errors import HeadlightError, Message
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import StepRecord, train
from transformer_core.training.optimizer import Adam
from transformer_core.training.run import commands
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.film import Film
from transformer_core.training.run.metrics import RecordFile
from transformer_core.training.run.queue import n_at_once


def _first_step(begun: Callable[[], Generator[StepRecord]]) -> StepRecord:
    return next(begun())


def refusal(act: Callable[[], object]) -> str:
    """Return the German sentence of the error that something ends with, which another process tells as well."""
    with pytest.raises(HeadlightError) as caught:
        act()
    stored = json.dumps(caught.value.message.as_json())
    assert in_german(Message.from_json(json.loads(stored))) == in_german(caught.value)
    return in_german(caught.value)


@pytest.mark.parametrize(
    ("change", "german"),
    [
        ({"schedule": "linear"}, "schedule muss eines von paper, cosine, constant sein, nicht 'linear'"),
        ({"film_megabytes": -1}, "film_megabytes muss eine ganze Zahl von mindestens 0 sein, nicht -1"),
        ({"compile": 1}, "compile muss true oder false sein, nicht 1"),
        (
            {"rate_changes": ((5, 0.5), (3, 2.0))},
            "rate_changes müssen nach steigenden Schritten geordnet sein, ab 1; hier steht 3 nach 5",
        ),
    ],
)
def test_settings(config: TrainingConfig, change: dict[str, object], german: str):
    assert refusal(lambda: replace(config, **change)) == german  # type: ignore[arg-type]  # which is the point


def test_a_training_that_went_wrong(model: Transformer, batches: PairBatches, config: TrainingConfig):
    with torch.no_grad():
        next(model.parameters()).fill_(math.inf)
    way_out = (
        "Beginne ein neues Training mit kleinerem learning_rate_factor (jetzt 0.5) oder mehr warmup_steps (jetzt 6)"
    )
    for clip_norm, said in ((1.0, way_out), (None, f"{way_out}, oder mit clip_norm 1")):
        train_on = partial(train, model, batches, replace(config, clip_norm=clip_norm))
        assert refusal(partial(_first_step, train_on)) == (
            f"der Loss wurde bei Schritt 1 nan; das Update wurde übersprungen. {said}"
        )
    assert refusal(lambda: Adam(model, config).load({"other.exp_avg": torch.zeros(1)})) == (
        "der gespeicherte Optimierer passt bei 'other.exp_avg' nicht zum Modell, also lässt sich "
        "dieses Training nicht fortsetzen; starte ein neues"
    )


def test_folders(tmp_path: Path):
    assert refusal(lambda: commands.ask(tmp_path, "step", 0.0)) == "step muss eine Zahl über 0 sein, nicht 0.0"
    (tmp_path / "other").touch()
    assert refusal(lambda: RunDirectory.refuse_if_taken(tmp_path)) == (
        f"{tmp_path} ist nicht leer und enthält kein Training; wähle einen anderen Ordner"
    )
    assert refusal(lambda: RunDirectory.refuse_if_taken(tmp_path / "other")) == (
        f"{tmp_path / 'other'} ist eine Datei; ein Training braucht einen Ordner"
    )
    (tmp_path / "metrics.jsonl").write_text('{"loss": 1}\n')
    assert refusal(RecordFile(tmp_path / "metrics.jsonl").read) == (
        f"{tmp_path / 'metrics.jsonl'} ist beschädigt (eine Zeile enthält nicht die Metriken eines Schritts); "
        "verschiebe die Datei, dann macht --resume ohne sie weiter"
    )
    (tmp_path / "run.json").write_text(json.dumps({"corpus": 3}))
    assert refusal(lambda: RunDirectory.open(tmp_path)) == (
        f"{tmp_path / 'run.json'} wurde von einer anderen Version geschrieben und ist unbrauchbar (corpus ist 3)"
    )


def test_films(tmp_path: Path):
    film = Film(tmp_path)
    assert refusal(lambda: film.load(1500)) == "der Film hat keinen Snapshot bei Schritt 1 500; es gibt keine"
    for step in range(13):
        (tmp_path / "film" / f"{step * 100:06}").mkdir(parents=True)
        (tmp_path / "film" / f"{step * 100:06}" / "model.safetensors").touch()
    assert (
        refusal(lambda: film.load(1500)) == "der Film hat keinen Snapshot bei Schritt 1 500; es gibt 13 von 0 bis 1 200"
    )


def test_the_queue(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", "many")
    assert refusal(n_at_once) == "HEADLIGHT_RUNS_AT_ONCE muss eine ganze Zahl von mindestens 1 sein, nicht 'many'"
