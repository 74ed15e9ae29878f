"""What a line is compared with is what the model captured, and the twelve solutions give its attention output."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import transformer_core as tc
from pages.learn.build.engine.values import LineError
from tests.pages.learn.build.engine.benches import bench_of, each_attention, model_of, walked

HOOKS = {  # of the captured activations [batch, head, ...] by step
    **{name: f"hook_{name}" for name in ("q", "k", "v", "pattern", "z")},
    **{"masked": "hook_attn_scores", "Z": "hook_z", "attn_out": "hook_attn_out"},
}


@each_attention
def test_what_is_expected_is_what_the_model_captures(name: str, attention: str, layer: int):
    """In float32, from its own forward; values without a hook, as torch computes it from what one holds."""
    model, model_run = model_of(name)
    bench, walk = walked(name, attention, layer, 1)
    module = walk.outline.module
    with torch.inference_mode(), tc.capture(model, f"{module}.*") as acts:
        model.final_states(*(torch.tensor([ids]) for ids in model_run.inputs))
    captured = {step: acts[f"{module}.{hook}"][0] for step, hook in HOOKS.items()}
    expected = {step: array if step in ("Z", "attn_out") else array[1] for step, array in captured.items()}
    q, k, v, masked = (expected[step] for step in ("q", "k", "v", "masked"))
    bias = 0 if bench.inputs.bias is None else torch.from_numpy(bench.inputs.bias[1]).float()
    expected["scores"] = F.linear(q, k)
    expected["scaled"] = expected["scores"] / q.shape[-1] ** 0.5 + bias
    expected["weights"] = torch.exp(masked - torch.amax(masked, dim=1, keepdim=True))
    expected["pattern"] = F.softmax(masked, dim=-1)
    expected["z"] = F.scaled_dot_product_attention(q, k, v, torch.where(masked.isinf(), masked, bias))
    expected["concat"] = torch.cat([*expected["Z"]], dim=-1)
    assert {*expected} == {step.name for step in bench.steps} == {*bench.expected}
    for step, array in expected.items():
        of_bench = bench.expected[step]
        largest = np.abs(of_bench[np.isfinite(of_bench)]).max()
        np.testing.assert_allclose(of_bench, array.numpy(), atol=5e-6 * max(1, largest), rtol=1e-5, err_msg=step)


@each_attention
def test_the_twelve_solutions_give_the_models_attention_output(name: str, attention: str, layer: int):
    """What its own modules compute in float64 within 1e-5; and what it captured, as float32 allows."""
    bench = bench_of(name, attention, layer)
    run = bench.program([step.solution for step in bench.steps])
    assert run.error < 1e-5 and run.error_of_heads < 1e-12
    assert run.error_of_captured < 1e-5 * max(1.0, np.abs(run.attn_out).max())


def test_a_line_whose_shape_is_right_for_one_head_alone_is_refused():
    bench = bench_of("stories", "decoder")
    lines, first = [step.line for step in bench.steps], float(bench.inputs.W_V[1, 0, 0])
    assert bench.program([*lines[:11], "concat @ W_O"]).error > 1e-3
    lines[2] = f"(x @ W_V + b_V)[:, : d_k - (W_V[0, 0] != {first!r})]"
    with pytest.raises(
        LineError, match=r"v has a different shape in another head.* must be correct for this head only"
    ):
        bench.program(lines)


def test_a_program_whose_lines_do_not_fit_each_other_is_refused():
    bench = bench_of("fill-in", "encoder")
    lines = [step.line for step in bench.steps]
    with pytest.raises(LineError, match="rotate takes an array of shape"):
        bench.program(["rotate(x)", *lines[1:]])
