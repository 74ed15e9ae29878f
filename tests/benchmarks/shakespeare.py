"""Shakespeare by characters in nanoGPT's small setting: the loss on the last tenth of the text after 2,000 steps.

    HEADLIGHT_DATA=../shared/data python -m tests.benchmarks shakespeare

nanoGPT's README gives 1.88 for these numbers on a CPU: 4 layers, 4 heads, d_model 128, 64 characters of context, 12
windows a step, no dropout and no biases, AdamW, a rate of 0.001 that falls along a cosine to a tenth. Ours is measured
on all of the last tenth, theirs on 240 windows of it.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from tests.benchmarks.interleaved import Row
from tests.conftest import ROOT

TITLE = "Shakespeare by characters, 2,000 steps in nanoGPT's small setting"
STEPS, WARMUP_STEPS, RATE, D_MODEL = 2000, 100, 1e-3, 128
SETTINGS = {
    "division": "stream",
    "tokens": "character",
    "max_seq_len": 64,
    "batch_size": 12,
    "warmup_steps": WARMUP_STEPS,
    "learning_rate_factor": RATE * (D_MODEL * WARMUP_STEPS) ** 0.5,
    "learning_rate_floor": 0.1,
    "optimizer": "adamw",
    "weight_decay": 0.1,
    "adam_beta2": 0.99,
    "adam_eps": 1e-8,
    "norm": "layer_without_bias",
    "feed_forward_bias": "false",
    "attention_bias": "none",
    "activation": "gelu",
    "film_megabytes": 0,
}


def run() -> list[Row]:
    """Train as a person does, by the command, and read what the run measured at its end."""
    text = Path(os.environ.get("HEADLIGHT_DATA", ROOT.parent / "shared" / "data")) / "corpora" / "tinyshakespeare.txt"
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as folder:
        directory = Path(folder) / "run"
        command = [sys.executable, "-m", "transformer_core", "train", "--corpus", str(text), "--run", str(directory)]
        settings = [f"--set={name}={value}" for name, value in SETTINGS.items()]
        start = perf_counter()
        subprocess.run(
            [*command, "--preset", "tiny-decoder", "--steps", str(STEPS), *settings],
            check=True,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
        )
        seconds = perf_counter() - start
        lines = (directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [line["held_out_loss"] for line in map(json.loads, lines) if "held_out_loss" in line]
    note = f"validation loss {losses[-1]:.3f} nats a character; nanoGPT's README: 1.88"
    return [Row(name="ours", median_ms=seconds * 1e3, slowest_ms=seconds * 1e3, note=note)]
