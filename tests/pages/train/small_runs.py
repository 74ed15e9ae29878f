"""A small training, from its beginning to its end."""

from pathlib import Path

import pytest
import torch

from transformer_core.analysis.head_history import HeadHistory
from transformer_core.analysis.head_meter import HeadMeter
from transformer_core.training.begin import Settings, begin
from transformer_core.training.worker import Moment, work

SMALL = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1}


def train_copy(folder: Path) -> None:
    """Make a finished run named "copy" of three steps, and the folder "cache" that it used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CACHE", str(folder / "cache"))
        training = {"steps": 3, "log_every": 1, "evaluate_pairs": 4, "batch_size": 8, "film_megabytes": 1}
        job = begin(
            folder / "copy", corpus_name="copy", preset="tiny", settings=Settings(model=SMALL, training=training)
        )
        meter = HeadMeter(job.model.config, job.tokenizer, job.corpus.held_out[:2])
        for event in work(job):
            if isinstance(event, Moment):
                job.directory.film.heads.append(HeadHistory.to_record(event.step, meter.measure(job.model)))
        torch.set_flush_denormal(False)
