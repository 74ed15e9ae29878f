"""Why a training ended, in German: what goes into files is a template and its values, for readers of any language."""

import json
import math
from pathlib import Path

import pytest
import torch

from tests.german import in_german
from transformer_core.corpora.batching import PairBatches
from transformer_core.errors import Message, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import train
from transformer_core.training.run.film import Film


def test_a_training_that_went_wrong(model: Transformer, batches: PairBatches, config: TrainingConfig):
    with torch.no_grad():
        next(model.parameters()).fill_(math.inf)
    with pytest.raises(RunError) as caught:
        next(train(model, batches, config))
    told = in_german(caught.value)
    assert told.startswith("der Loss wurde bei Schritt 1 nan") and "learning_rate_factor (jetzt 0.5)" in told
    assert in_german(Message.from_json(json.loads(json.dumps(caught.value.message.as_json())))) == told


def test_a_snapshot_that_is_not_there(tmp_path: Path):
    for there, listed in ((0, "es gibt keine"), (13, "es gibt 13 von 0 bis 1 200")):
        for step in range(there):
            (tmp_path / "film" / f"{step * 100:06}").mkdir(parents=True)
            (tmp_path / "film" / f"{step * 100:06}" / "model.safetensors").touch()
        with pytest.raises(RunError, match="no snapshot at step 1,500; there are") as caught:
            Film(tmp_path).load(1500)
        told = in_german(caught.value).replace("\u202f", " ")
        assert told == f"der Film hat keinen Snapshot bei Schritt 1 500; {listed}"
