"""What it costs to watch: every pattern captured, and every site captured, against a forward that nobody watches."""

import torch

import transformer_core as tc
from tests.benchmarks.interleaved import Row, interleaved, rows

TITLE = "Watched and unwatched forward, transformer_base, one pair of 64 tokens"


def run() -> list[Row]:
    """Time the forwards in turn."""
    model = tc.build(tc.presets.transformer_base(vocab_size=8000)).eval()
    src, tgt = torch.randint(4, 8000, (2, 1, 64), generator=torch.Generator().manual_seed(0))

    @torch.inference_mode()
    def watched(*sites: str) -> None:
        with tc.capture(model, *sites):
            model(src, tgt)

    @torch.inference_mode()
    def unwatched() -> None:
        model(src, tgt)

    contestants = {
        "unwatched": unwatched,
        "all 18 x 8 patterns captured": lambda: watched("*.hook_pattern"),
        "every site captured": lambda: watched("*"),
    }
    return rows(interleaved(contestants, rounds=15), "unwatched")
