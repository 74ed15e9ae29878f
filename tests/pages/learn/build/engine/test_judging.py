"""A wrong line gets a message that names the mistake."""

import numpy as np
import pytest

from pages.learn.build.engine.judging import ALL_ALLOWED, is_close, judge
from pages.learn.build.engine.one_head import INVERTED, KEEPDIM, NO_POSITIONS, UNMASKED
from tests.pages.learn.build.engine.benches import LAST, bench_of, each_kind
from transformer_core.errors import Message


def place_of(name: str, attention: str, step: str) -> int:
    return [one.name for one in bench_of(name, attention).steps].index(step)


@each_kind
def test_every_solution_is_right(name: str, attention: str):
    bench = bench_of(name, attention)
    for place, step in enumerate(bench.steps):
        later = {one.name for one in bench.steps[place:]}
        assert step.mistakes and not later & {*bench.given(place)}
        for line in (step.line, step.solution):
            verdict = judge(bench, place, line)
            assert verdict.is_right and not verdict.reasons and verdict.cell is None, step.name
            assert verdict.result is not None and verdict.result.shape == bench.expected[step.name].shape


def test_every_known_mistake_is_named_by_itself_in_some_model():
    named: dict[tuple[str, str], bool] = {}
    for bench in (bench_of(name, attention) for name, attention in LAST):
        for place, step in enumerate(bench.steps):
            for line, why in ((line, why) for line, why in step.mistakes if line):
                is_named = Message(why) in judge(bench, place, line).reasons
                named[step.name, str(why)] = named.get((step.name, str(why)), False) or is_named
    assert named and all(named.values()), named


@pytest.mark.parametrize(
    ("step", "line", "sentence"),
    [
        ("q", "x", "The result has shape [{n}, 128]; expected [{n}, 32], that is, [query, d_head]."),
        ("q", "(x @ W_Q + b_Q).T", "The result is transposed."),
        ("q", "d_k", "The line returns a single number; expected an array of shape [{n}, 32]."),
        ("z", "v", "The result equals v."),
        ("scaled", "scores / 5.657", "The numbers are nearly correct: a constant has too few digits."),
        ("scores", "3 * q @ k.T", "Every cell is 3 times the expected one."),
        ("scores", "q @ k.T + 2", "Every cell is too large by 2."),
        ("scores", "-(q @ k.T)", "Every cell has the wrong sign."),
        ("masked", "where(mask, scaled, -1e9)", "A large negative number is almost correct"),
        ("masked", 'scaled * mask + ~mask * float("-inf")', "Some cells are NaN"),
        ("pattern", "masked.softmax(dim=-1) * 2", "Every cell is 2 times the expected one."),
        ("z", "x[:, :32] * 0 + 1", ""),
        ("z", "pattern @", "“pattern @▸” is not a Python expression"),
    ],
)
def test_what_is_no_known_mistake_is_told_by_its_numbers(step: str, line: str, sentence: str):
    bench = bench_of("stories", "decoder")
    verdict = judge(bench, place_of("stories", "decoder", step), line)
    assert not verdict.is_right
    words = " ".join(map(str, verdict.reasons))
    assert sentence.format(n=len(bench.inputs.x)) in words and bool(words) == bool(sentence)


def test_the_cell_that_differs_most_is_found():
    bench = bench_of("stories", "decoder")
    place = place_of("stories", "decoder", "scores")
    verdict = judge(bench, place, "q @ k.T + 0.001 * where(mask, 0, q @ k.T)")
    expected = bench.expected["scores"]
    off = np.where(bench.inputs.mask, 0, np.abs(expected))
    assert verdict.cell is not None and verdict.cell.index == np.unravel_index(off.argmax(), off.shape)
    assert verdict.cell.value == pytest.approx(1.001 * verdict.cell.expected)


def test_a_line_without_the_mask_is_wrong_even_where_the_mask_allows_every_cell():
    bench = bench_of("en-fr", "encoder")
    assert bench.inputs.mask.all()
    inverted = 'scaled.masked_fill(mask, float("-inf"))'
    for step, line in (("masked", "scaled"), ("masked", inverted), ("Z", "softmax(Q @ K.mT / sqrt(d_k), dim=-1) @ V")):
        verdict = judge(bench, place_of("en-fr", "encoder", step), line)
        expected = {INVERTED} if line == inverted else {UNMASKED, ALL_ALLOWED}
        assert not verdict.is_right and {*map(str, verdict.reasons)} & {INVERTED, UNMASKED, ALL_ALLOWED} == expected


def test_other_spellings_are_right_and_their_mistakes_are_named():
    bench = bench_of("induction", "decoder")

    for step, line, reasons in (
        ("weights", "torch.exp(masked - torch.max(masked, dim=-1, keepdim=True).values)", []),
        ("Z", 'F.softmax(where(mask, Q @ K.mT * d_k ** -0.5 + biases, float("-inf")), -1) @ V', []),
        ("scaled", "scores * d_k ** -0.5", [NO_POSITIONS]),
        ("pattern", "weights / np.sum(weights, axis=1)", [KEEPDIM]),
    ):
        verdict = judge(bench, place_of("induction", "decoder", step), line)
        assert verdict.is_right == (not reasons) and [*map(str, verdict.reasons)] == reasons


def test_numbers_may_differ_by_a_share_of_the_largest_and_small_ones_by_as_much_as_of_1():
    large, small = np.array([-1000.0, 0.25, -np.inf]), np.array([0.5, 0.25])
    assert is_close(large + 0.009, large) and not is_close(large + 0.011, large)
    assert is_close(small + 9e-6, small) and not is_close(small + 1.1e-5, small)
