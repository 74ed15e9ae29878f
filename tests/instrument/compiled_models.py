"""Compiled models under the instruments; run as a program, for while tests check types nothing can be compiled."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from threading import Barrier
from typing import Any

import torch
from torch._dynamo import eval_frame

import transformer_core as tc

TOKENS = torch.tensor([[1, 5, 6, 7, 8]])
Z, PATTERN = "decoder.blocks.0.self_attn.hook_z", "decoder.blocks.0.self_attn.hook_pattern"


def small_decoder() -> tc.Transformer:
    config = tc.ModelConfig(
        vocab_size=20,
        architecture="decoder_only",
        d_model=16,
        d_ff=32,
        n_heads=2,
        n_encoder_layers=0,
        n_decoder_layers=2,
        max_seq_len=32,
        tie_embeddings="target",
        dropout=0.0,
        positions="rotary_halves",
        norm_position="pre",
    )
    return tc.build(config, seed=3).eval()


def compiled_in_place(model: tc.Transformer) -> Any:
    model.compile(backend="eager")
    return model


def wrapped(model: tc.Transformer) -> Any:
    return torch.compile(model, backend="eager")


def is_captured_and_changed_as_the_plain_one(compiled: Callable[[tc.Transformer], Any]) -> None:
    model = small_decoder()
    twin = deepcopy(model)
    before = model(TOKENS)
    with tc.intervene(model, {Z: tc.zero_heads([0, 1])}), tc.capture(model, "*") as plain:
        expected = model(TOKENS)
    assert (expected - before).abs().max() > 0.1
    quick = compiled(twin)
    torch.testing.assert_close(quick(TOKENS), before)
    with tc.intervene(quick, {Z: tc.zero_heads([0, 1])}), tc.capture(quick, "*") as acts:
        torch.testing.assert_close(quick(TOKENS), expected)
    assert acts.keys() == plain.keys()
    for name in plain:
        torch.testing.assert_close(acts[name], plain[name])
    torch.testing.assert_close(quick(TOKENS), before)
    assert eval_frame._stance.stance == "default", "it is compiled again"


def contexts_of_two_threads_that_overlap_leave_nothing_behind() -> None:
    quick = compiled_in_place(small_decoder())
    quick(TOKENS)
    both_in, one_out = Barrier(2), Barrier(2)

    def look(*, first: bool) -> float:
        with torch.no_grad(), tc.capture(quick) as acts:
            both_in.wait(30)
            if not first:
                one_out.wait(30)
            quick(TOKENS)
        if first:
            one_out.wait(30)
        return float(acts[PATTERN].sum())

    with ThreadPoolExecutor(2) as threads:
        sums = [*threads.map(lambda first: look(first=first), (True, False))]
    assert all(abs(total - 10) < 1e-5 for total in sums), "two heads of five rows"
    assert eval_frame._stance.stance == "default"


if __name__ == "__main__":
    with torch.no_grad():
        is_captured_and_changed_as_the_plain_one(compiled_in_place)
        is_captured_and_changed_as_the_plain_one(wrapped)
    contexts_of_two_threads_that_overlap_leave_nothing_behind()
    print("alright")
