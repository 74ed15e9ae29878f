"""Why a training ended, in German: what goes into files is a template and its values, for readers of any language."""

import json
import math

import pytest
import torch

from tests.german import in_german
from transformer_core.corpora.batching import PairBatches
from transformer_core.errors import Message, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import train


def test_a_training_that_went_wrong(model: Transformer, batches: PairBatches, config: TrainingConfig):
    with torch.no_grad():
        next(model.parameters()).fill_(math.inf)
    with pytest.raises(RunError) as caught:
        next(train(model, batches, config))
    told = in_german(caught.value)
    assert told.startswith("der Loss wurde bei Schritt 1 nan") and "learning_rate_factor (jetzt 0.5)" in told
    assert in_german(Message.from_json(json.loads(json.dumps(caught.value.message.as_json())))) == told
