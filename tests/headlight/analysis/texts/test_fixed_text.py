"""A fixed text: the tokens that a model read and wrote, as `run_text` labels them, judged by their probabilities."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from headlight.analysis.texts.fixed_text import fix_text
from headlight.analysis.trace.model_run import run_text
from headlight.analysis.trace.traced_forward import TracedForward
from tests.headlight.analysis.conftest import TEXTS, Made
from transformer_core.config import Architecture

LONG = "the cat " * 30


@pytest.mark.parametrize(
    ("architecture", "text", "target"),
    [
        *(
            ("encoder_decoder", TEXTS[0], None),
            ("encoder_decoder", TEXTS[0], TEXTS[2]),
            ("encoder_decoder", LONG, None),
        ),
        *(("decoder_only", "The cat", None), ("decoder_only", LONG, None)),
        *(("encoder_only", "The ____ sees the <mask>.", None), ("encoder_only", LONG, None)),
    ],
)
@pytest.mark.parametrize("seed", [0, 1, 3])  # some models end on their own, some do not
def test_it_is_what_a_run_reads_and_writes(
    make: Callable[..., Made], architecture: Architecture, text: str, target: str | None, seed: int
):
    model, tokenizer = make(architecture, seed=seed)
    fixed = fix_text(model, tokenizer, text, target=target, max_tokens=12)
    actual = run_text(model, tokenizer, text, target=target, max_tokens=12)
    assert (fixed.source, fixed.output, fixed.inputs) == (actual.source, actual.output, actual.inputs)
    assert (
        fixed.target == actual.target and fixed.left_out == actual.left_out and bool(fixed.left_out) == (text == LONG)
    )
    seen = TracedForward(model, *(torch.tensor([ids]) for ids in fixed.inputs))
    for name, patterns in actual.patterns.items():
        np.testing.assert_array_equal(seen.patterns[name], patterns)
    with torch.inference_mode():
        log_probs = model(*(torch.tensor([ids]) for ids in fixed.inputs)).log_softmax(-1)[0]
    judged = [float(log_probs[at, token]) for at, token in zip(fixed.judged, fixed.expected, strict=True)]
    if architecture == "encoder_only":
        assert fixed.judged == tuple(blank.position for blank in actual.blanks)
        best = [blank.candidates[0].probability for blank in actual.blanks]
        np.testing.assert_allclose(np.exp(judged), best, atol=1e-6)
    else:
        first = fixed.judged[0]
        assert fixed.judged == tuple(range(first, first + len(judged)))
        assert fixed.expected[: len(fixed.inputs[-1]) - first - 1] == fixed.inputs[-1][first + 1 :]
        assert np.exp(np.mean(judged)) == pytest.approx(actual.mean_probability, abs=1e-6)
