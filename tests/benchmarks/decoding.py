"""Greedy decoding with the KV cache against reading everything anew at each step."""

import torch

import transformer_core as tc
from tests.benchmarks.interleaved import Row, interleaved, rows

TITLE = "Greedy decoding of 60 tokens, tiny, a batch of 8"


def run() -> list[Row]:
    """Time the decodings in turn; the end token is out of reach, so that both write all 60 tokens."""
    model = tc.build(tc.presets.tiny(vocab_size=500)).eval()
    with torch.no_grad():
        model.unembed.weight[model.config.eos_id] = -10 * model.unembed.weight.mean(dim=0)
    src = torch.randint(4, 500, (8, 20), generator=torch.Generator().manual_seed(0))

    def decode(*, use_cache: bool) -> None:
        tc.greedy_decode(model, src, max_new_tokens=60, use_cache=use_cache)

    contestants = {
        "with the cache": lambda: decode(use_cache=True),
        "without": lambda: decode(use_cache=False),
    }
    return rows(interleaved(contestants, rounds=8), "with the cache")
