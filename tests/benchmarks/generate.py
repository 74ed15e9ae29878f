"""Greedy decoding and a search with four beams against transformers' `generate`, with the same weights."""

from dataclasses import replace
from functools import partial

import torch

import transformer_core as tc
from tests.benchmarks.interleaved import Row, interleaved, row_of, speed_up
from tests.decoding.foreign import as_gpt2

TITLE = "200 tokens from a tiny decoder (4 layers, d_model 128), against transformers' generate"
N_NEW, N_PROMPT, VOCAB_SIZE = 200, 8, 1000


def run() -> list[Row]:
    """Time both ways of decoding in turn with theirs; the end token is out of reach, so that all write 200 tokens."""
    import transformers

    config = replace(
        tc.presets.tiny_decoder(VOCAB_SIZE),
        max_seq_len=256,
        activation="relu",
        tie_embeddings="none",
        unembed_bias=False,
    )
    model = tc.build(config).eval()
    with torch.no_grad():
        model.unembed.weight[config.eos_id] = -10 * model.unembed.weight.mean(dim=0)
    theirs = as_gpt2(model, transformers)
    prompt = torch.randint(4, VOCAB_SIZE, (1, N_PROMPT), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(prompt)

    def generate(n_beams: int) -> object:
        return theirs.generate(
            prompt, attention_mask=mask, do_sample=False, num_beams=n_beams, max_new_tokens=N_NEW, min_new_tokens=N_NEW
        )

    rows = []
    for name, n_beams in (("greedy", 1), ("4 beams", 4)):

        def decode(n_beams: int = n_beams) -> object:
            if n_beams == 1:
                return tc.greedy_decode(model, prompt, max_new_tokens=N_NEW)
            return tc.beam_search(model, prompt, n_beams=n_beams, max_new_tokens=N_NEW)

        times = interleaved({"ours": decode, "generate": partial(generate, n_beams)}, rounds=7)
        ratio = speed_up(times["generate"], times["ours"])
        for who, values in times.items():
            note = f"ours is {ratio:.2f} times as fast" if who == "generate" else ""
            rows.append(row_of(f"{name}: {who}", values, note))
    return rows
