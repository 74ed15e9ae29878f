"""Small trainings: one from its beginning to its end, and one of somebody's own pairs that was stopped."""

from pathlib import Path

import pytest
import torch

from headlight.analysis.heads.meter import HeadMeter
from headlight.analysis.training.head_history import HeadHistory
from transformer_core.training.run.begin import begin
from transformer_core.training.run.request import Settings
from transformer_core.training.run.worker import work

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

        def measure_heads(step: int) -> None:
            job.directory.film.heads.append(HeadHistory.to_record(step, meter.measure(job.model)))

        for _ in work(job, on_snapshot=measure_heads):
            pass
        torch.set_flush_denormal(False)


def stop_pairs(folder: Path) -> None:
    """Make a run named "pairs" of a user's file, stopped after two of six steps, and the folder "cache"."""
    file = folder / "pairs.tsv"
    lines = (
        f"The {a} {b}s, it's {c}.\tDer {b}t {a}?\n" for a in ("Dog", "cat") for b in ("eat", "Wait") for c in "xyz"
    )
    file.write_text("".join(lines), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CACHE", str(folder / "cache"))
        training = {"steps": 6, "log_every": 1, "evaluate_pairs": 2, "batch_size": 4, "film_megabytes": 1}
        settings = Settings(model=SMALL, training=training, reading={"tokens": "word"})
        job = begin(folder / "pairs", corpus_name=str(file), preset="tiny", settings=settings)
        for _ in work(job, stop_reason=lambda: "enough" if job.step == 2 else ""):
            pass
        torch.set_flush_denormal(False)
