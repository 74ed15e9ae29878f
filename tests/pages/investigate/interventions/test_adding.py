"""Cells that are edited together, against plain forward passes of the model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import words_of
from tests.pages.investigate.interventions.test_compared_tokens import logits_of
from tests.pages.investigate.interventions.test_page import changes, figures_of, opened, press, sentences, stack_of
from transformer_core.analysis.interventions import Ablation, CellEdit, Component, Patch, Stack, applied, read_base
from transformer_core.analysis.trace.traced_forward import captured

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]
OpenApp = Callable[..., AppTest]
NAMES = ("en-fr-interventions-pattern-before", "en-fr-interventions-pattern")


def group_opened(open_app: OpenApp) -> AppTest:
    app = opened(open_app, add="cells", attention="encoder", layer="0", head="1")
    return app.segmented_control(key="interventions-scope-segments").set_value("group").run()


def add_cell(app: AppTest, query: int, key: int) -> AppTest:
    app.selectbox(key="interventions-query-box").set_value(query).run()
    app.selectbox(key="interventions-cell-key-box").set_value(key).run()
    return press(app, "interventions-add-cell")


def framed(app: AppTest) -> list[list[tuple[int, int]]]:
    """The cells that have a frame, in each of the two patterns."""
    figures = figures_of(app)
    return [
        [
            (round(shape["y0"] + 0.5), round(shape["x0"] + 0.5))
            for shape in figures[name]["layout"].get("shapes", [])
            if shape["type"] == "rect"
        ]
        for name in NAMES
    ]


def test_a_group_of_cells_is_edited_at_once_and_then_empty(open_app: OpenApp, three_kinds: Path):
    app = group_opened(open_app)
    for query, key in ((2, 1), (3, 0), (4, 4)):
        app = add_cell(app, query, key)
    assert app.button(key="interventions-add-cell").disabled  # it is in the group
    assert framed(app) == [[(2, 1), (3, 0), (4, 4)]] * 2
    app.multiselect(key="interventions-group-box").set_value([(2, 1), (4, 4)]).run()
    assert framed(app) == [[(2, 1), (4, 4)]] * 2
    app.segmented_control(key="interventions-operation-segments").set_value("knock_out").run()
    app = press(app, "interventions-add-it")
    edit = CellEdit(attention="encoder", layer=0, heads=(1,), cells=((2, 1), (4, 4)), operation="knock_out")
    assert stack_of(app).entries == (edit,)
    assert sentences(app) == ["knock out 2 cells (2 → 1, 4 → 4) of encoder self-attention L0.H1 before the softmax"]
    assert framed(app) == [[], []] and not app.multiselect(key="interventions-group-box").value

    def forbidden(scores: torch.Tensor, _: object) -> torch.Tensor:
        scores = scores.clone()
        for query, key in ((2, 1), (4, 4)):
            scores[:, 1, query, key] = -torch.inf
        return scores

    before = logits_of(three_kinds, {})
    after = logits_of(three_kinds, {"encoder.blocks.0.self_attn.hook_attn_scores": forbidden})
    expected = [
        float((b - a)[first] - (b - a)[second])
        for a, b in zip(before, after, strict=True)
        for first, second in [a.index_fill(-1, torch.tensor([0]), -torch.inf).topk(2).indices.tolist()]
    ]
    np.testing.assert_allclose(changes(app), expected[: len(changes(app))], atol=1e-5)


def test_a_group_without_cells_is_not_added(open_app: OpenApp):
    app = press(group_opened(open_app), "interventions-add-it")
    assert app.warning[0].value.startswith("The group has no cell yet") and not stack_of(app).entries


def test_cells_that_a_shorter_text_lacks_are_left_out(open_app: OpenApp):
    app = add_cell(add_cell(group_opened(open_app), 5, 5), 1, 1)
    app.session_state["text"] = "The cat."
    app.run()
    app = press(app, "interventions-add-it")
    (entry,) = stack_of(app).entries
    assert isinstance(entry, CellEdit) and entry.cells == ((1, 1),)


def n_paired(folder: Path, model: str, component: Component, text: str, other: str) -> tuple[int, int]:
    """Count the positions whose value is the same whatever the seed of the draws, among all that are replaced."""
    loaded, tokenizer = tc.load(folder / model)
    run = read_base(loaded, tokenizer, text).run
    name = f"{'encoder' if component.attention == 'encoder' else 'decoder'}.blocks.{component.layer}.hook_resid_post"
    values = []
    for seed in range(12):
        stack = Stack(entries=(Patch(component=component, text=other, seed=seed, direction="noising"),))
        with applied(loaded, tokenizer, stack, run=run):
            values.append(captured(loaded, run.inputs, name)[name][0])
    is_drawn = (torch.stack(values) != values[0]).any(-1).any(0)
    replaced = torch.tensor(component.positions or range(len(is_drawn)))
    return int((~is_drawn[replaced]).sum()), len(replaced)


@pytest.mark.parametrize(
    ("model", "attention", "positions", "other"),
    [
        ("en-fr", "encoder", (), "The big dog sees a cat because it sleeps."),
        ("en-fr", "encoder", (1, 5), "The dog didn't sleep."),
        ("en-fr", "decoder", (), "The cat sleeps."),
        ("gaps", "encoder", (), "The dog sees the cat because it was tired."),
        ("tales", "decoder", (), "The big dog sees the"),
    ],
)
@pytest.mark.parametrize("method", ["patch", "resample"])
def test_it_is_said_how_many_positions_have_a_counterpart(
    open_app: OpenApp,
    three_kinds: Path,
    model: str,
    attention: Any,
    positions: tuple[int, ...],
    other: str,
    method: str,
):
    text = "The dog sees the" if model == "tales" else "The dog sees the cat."
    app = opened(
        open_app, model=model, text=text, attention=attention, add="ablate" if method == "resample" else "patch"
    )
    app.selectbox(key="interventions-kind-box").set_value("resid_post").run()
    app.multiselect(key="interventions-positions-box").set_value([*positions]).run()
    app.text_input(key="interventions-other-box").set_value(other).run()
    (added,) = stack_of(press(app, "interventions-add-it")).entries
    assert isinstance(added, Patch | Ablation)
    n, n_all = n_paired(three_kinds, model, added.component, text, other)
    expected = (
        "Every position takes" if n == n_all else f"{n} of {n_all} positions ha{'s' if n == 1 else 've'} a counterpart"
    )
    assert expected in words_of(app)


def test_a_patch_from_the_same_text_says_that_it_changes_nothing(open_app: OpenApp):
    app = opened(open_app, add="patch")
    assert "this changes nothing" not in words_of(app)
    app.text_input(key="interventions-other-box").set_value("The  dog sees the cat.").run()
    assert "Both texts have the same tokens, so this changes nothing by itself." in words_of(app)
    assert not changes(press(app, "interventions-add-it")).any()
