"""Memory and time of a lazy capture at GPT-2-small size and 4,096 tokens, with every head's overview."""

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import torch

import transformer_core as tc
from tests.benchmarks.interleaved import Row

TITLE = "GPT-2-small size, 4,096 tokens: every head's overview at 256x256 from a lazy capture"
LENGTH, OVERVIEW = 4096, (256, 256)


def run() -> list[Row]:
    """Measure each in a fresh process, whose memory nothing else has touched."""
    rows = []
    for name in JOBS:
        command = [sys.executable, "-m", "tests.benchmarks.lazy_capture", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds, mebibytes = map(float, done.stdout.split()[-2:])
        note = f"peak {mebibytes:,.0f} MiB above the loaded model"
        rows.append(Row(name=name, median_ms=seconds * 1e3, slowest_ms=float("nan"), note=note))
    return rows


def plain(model: tc.Transformer, tokens: torch.Tensor) -> None:
    """Do the forward pass alone, logits included."""
    model(tokens)


def overviews(model: tc.Transformer, tokens: torch.Tensor) -> None:
    """Capture lazily, and pool the pattern of each of the 144 heads."""
    with tc.capture(model, lazy=True) as acts:
        model.final_states(tokens)
    n_heads = sum(pattern.pooled(OVERVIEW).shape[0] for pattern in acts.patterns.values())
    assert n_heads == 144, n_heads


JOBS = {"a plain forward pass": plain, "the capture and all overviews": overviews}


def _measure(job: Callable[[tc.Transformer, torch.Tensor], None]) -> tuple[float, float]:
    """Return the seconds that a job takes, and its peak of memory above the loaded model in MiB."""
    model = tc.build(replace(tc.presets.gpt2(), max_seq_len=LENGTH)).eval()
    tokens = torch.randint(0, model.config.vocab_size, (1, LENGTH), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        model(tokens[:, :8])  # makes the pools of threads
        before, highest, is_over = _resident(), [0.0], threading.Event()

        def watch() -> None:
            while not is_over.wait(0.002):
                highest[0] = max(highest[0], _resident())

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        start = perf_counter()
        job(model, tokens)
        seconds = perf_counter() - start
        is_over.set()
        watcher.join()
    return seconds, highest[0] - before


def _resident() -> float:
    """Return this process's memory in MiB."""
    n_pages = int(Path("/proc/self/statm").read_text().split()[1])
    return n_pages * 4096 / 2**20


if __name__ == "__main__":
    print(*_measure(JOBS[sys.argv[1]]))
