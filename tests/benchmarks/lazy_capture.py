"""Memory and time of a lazy capture at GPT-2-small size and 4,096 tokens, with every head's overview."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

import transformer_core as tc
from tests.benchmarks.interleaved import Row
from tests.benchmarks.own_process import measured, report

TITLE = "GPT-2-small size, 4,096 tokens: every head's overview at 256x256 from a lazy capture"
LENGTH, OVERVIEW = 4096, (256, 256)


def run() -> list[Row]:
    """Measure each job in a separate process."""
    rows = []
    for name in JOBS:
        seconds, mebibytes = measured("tests.benchmarks.lazy_capture", name)
        note = f"peak {mebibytes:,.0f} MiB above the loaded model"
        rows.append(Row(name=name, median_ms=seconds * 1e3, slowest_ms=float("nan"), note=note))
    return rows


def plain(model: tc.Transformer, tokens: torch.Tensor) -> None:
    """Do the forward pass alone, logits included."""
    model(tokens)


def overviews(model: tc.Transformer, tokens: torch.Tensor, during: tuple[int, int] | None = OVERVIEW) -> None:
    """Capture lazily, and pool the pattern of each of the 144 heads, while the model runs or afterwards."""
    with tc.capture(model, lazy=True, overview=during) as acts:
        model.final_states(tokens)
    n_heads = sum(pattern.pooled(OVERVIEW).shape[0] for pattern in acts.patterns.values())
    assert n_heads == 144, n_heads


JOBS: dict[str, Callable[[tc.Transformer, torch.Tensor], None]] = {
    "a plain forward pass": plain,
    "the capture and all overviews": overviews,
    "the capture, and all overviews afterwards": partial(overviews, during=None),
}


@torch.inference_mode()
def _measure(name: str) -> None:
    model = tc.build(replace(tc.presets.gpt2(), max_seq_len=LENGTH)).eval()
    tokens = torch.randint(0, model.config.vocab_size, (1, LENGTH), generator=torch.Generator().manual_seed(0))
    model(tokens[:, :8])  # makes the pools of threads
    report(lambda: JOBS[name](model, tokens))


if __name__ == "__main__":
    _measure(sys.argv[1])
