"""The verdict on a line, the figure of its result, the program of twelve lines, and the code of a step."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch

from headlight.analysis.interventions.records import Ablation, CellEdit, Component, InterventionStack
from headlight.analysis.interventions.stacks import to_json
from pages.learn.build import results, view_fields
from pages.learn.build.data import BuildData, code
from pages.learn.build.engine.judging import LargestDifference
from pages.shared.models import ModelCard
from tests.pages.learn.bare import Bare
from tests.pages.learn.build.conftest import Look

TEXT = "The red ball rolled away"


def solved(data: BuildData) -> dict[int, str]:
    """The solutions by their step."""
    return {number: step.line for number, step in enumerate(data.bench.steps, start=1)}


def said(bare: Bare) -> str:
    return bare.words.replace("\u2068", "").replace("\u2069", "")


def wrong_cell(data: BuildData) -> LargestDifference:
    verdict = data.verdicts[data.place]
    assert verdict is not None and verdict.cell is not None
    return verdict.cell


def test_a_wrong_line_is_told_why_and_where(look: Look, bare: Bare):
    data = look("stories", {8: "weights / weights.sum(dim=0, keepdim=True)"}, step=8, text=TEXT)
    results.show_verdict(data)
    cell = wrong_cell(data)
    query, key = cell.index
    words = said(bare)
    assert "data-right='False'" in words and "Here the columns sum to 1." in words
    assert f"query {query} “{data.labels[0][query]}”, key {key} “{data.labels[1][key]}”: your value is" in words
    assert f"the expected value is {cell.expected:.4g}." in words


def test_a_cell_of_all_heads_is_named_with_its_head(look: Look, bare: Bare):
    line = "softmax((Q @ K.mT).masked_fill(~mask, -inf), dim=-1) @ V"
    data = look("stories", {10: line}, step=10, text=TEXT)
    results.show_verdict(data)
    head, query, _ = wrong_cell(data).index
    assert f"at head {head}, query {query} " in said(bare)
    results.show_pictures(data)
    assert [drawn.title for drawn in bare.figures.values()] == [f"Your Z, head {head}", f"Expected Z, head {head}"]


def test_both_pictures_have_one_scale_and_frame_the_same_cell(look: Look, bare: Bare):
    data = look("stories", {5: "scores"}, step=5, text=TEXT)
    results.show_pictures(data)
    yours, expected = bare.figures["build-yours"], bare.figures["build-expected"]
    scales = [(drawn.layout["coloraxis3"]["cmin"], drawn.layout["coloraxis3"]["cmax"]) for drawn in (yours, expected)]
    assert scales[0] == scales[1]
    assert [drawn.layout["shapes"][0]["x0"] for drawn in (yours, expected)] == [wrong_cell(data).index[1] - 0.5] * 2
    for drawn, name in ((yours, "scores"), (expected, "scaled")):
        np.testing.assert_allclose(drawn.figure.data[0].z, data.bench.expected[name].astype(np.float32))


def test_a_result_is_drawn_in_its_own_shape_or_is_told_why_not(look: Look, bare: Bare):
    for line, shape in (("q.T", (32, 8)), ("b_Q", (1, 32)), ("x", (8, 128)), ("d_k", (1, 1))):
        results.show_pictures(look("stories", {2: line}, step=2, text=TEXT, continues=False))
        assert [drawn.figure.data[0].z.shape for drawn in bare.figures.values()] == [shape, (8, 32)]
    for line, words in (
        ("q +", "will be drawn here"),
        ("q[None, None]", "A result with 4"),
        ("q.reshape(-1, 1) * q.reshape(1, -1)", "A result with 65,536 numbers is not drawn."),
        ("q[None][0:0]", "A result with 0 numbers is not drawn."),
    ):
        results.show_pictures(look("stories", {2: line}, step=2, text=TEXT, continues=False))
        assert [*bare.figures] == ["build-expected"] and words in said(bare)


def test_until_then_the_last_step_says_what_is_open(look: Look, bare: Bare):
    data = look("stories", text=TEXT)
    lines = solved(data) | {3: "", 7: "masked.exp()"}
    results.show_program(look("stories", lines, step=12, text=TEXT))
    assert "10 of 12 lines are correct; still open: 3, 7." in said(bare)


def test_a_line_that_holds_for_one_head_alone_is_seen_in_the_program(look: Look, bare: Bare):
    head = {"text": TEXT, "layer": 0, "head": 0}
    data = look("stories", **head)
    zero = f" + W_Q[0, 0] - {float(data.bench.inputs.W_Q[0, 0, 0])!r}"
    data = look("stories", solved(data) | {9: data.bench.steps[8].line + zero}, **head)
    assert not data.open_steps
    results.show_program(data)
    assert "'hl-proof hl-unproved'" in said(bare) and "differ from line 10 by up to" in said(bare)


@pytest.mark.parametrize(
    ("model", "attention"),
    [("en-fr", "cross"), ("stories", "decoder"), ("induction", "decoder"), ("fill-in", "encoder")],
)
def test_the_code_of_each_step_gives_what_is_expected(look: Look, model: str, attention: str):
    for number in range(1, 13):
        data = look(model, step=number, attention=attention, layer=1, head=2)
        lines = code(data)
        *before, last = lines.rstrip().splitlines()
        assert last.startswith("print(") and "tc.capture(" in lines
        scope: dict[str, Any] = {}
        exec("\n".join([*before, f"result = {last.removeprefix('print')}"]), scope)
        expected = data.bench.expected[data.step.name]
        result = torch.as_tensor(scope["result"]).double().numpy()
        largest = np.abs(expected[np.isfinite(expected)]).max()
        np.testing.assert_allclose(result, expected, atol=1e-5 * max(1, largest), rtol=1e-4, err_msg=data.step.name)


def test_lines_are_compared_with_the_model_as_it_is_whatever_interventions_act(look: Look, bare: Bare):
    head = Component(kind="head", attention="encoder", layer=1, heads=(0,))
    edit = CellEdit(attention="encoder", layer=1, operation="set", heads=(0,), cells=((1, 2),), number=0.9)
    stack = to_json(InterventionStack(entries=(Ablation(component=head, method="zero"), edit)))
    place = {"attention": "encoder", "layer": 1, "head": 0}
    lines = solved(look("en-fr", **place))
    data = look("en-fr", lines, stack=stack, **place)
    assert data.view.stack == stack and not data.open_steps and "changed_model" not in code(data)


def test_numbers_are_written_with_four_digits():
    assert [*map(results.written, (-1.23456, float("-inf"), float("nan")))] == ["−1.235", "−∞", "NaN"]


@pytest.mark.parametrize("model", ["en-fr", "stories"])
def test_the_page_opens_on_a_head_whose_mask_hides_keys(look: Look, cards: Mapping[str, ModelCard], model: str):
    data = look(model, **view_fields.usual_head(cards[model])._asdict())
    assert not np.asarray(data.bench.given(5)["mask"]).all()
