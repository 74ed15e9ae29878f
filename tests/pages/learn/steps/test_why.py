"""Why a score is what it is: its terms against the model's own score, and whose they are."""

import html
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.steps import why
from tests.pages.learn.bare import Bare
from tests.pages.learn.steps.conftest import Look

TEXT = "The cat sleeps."


def test_the_terms_of_the_chosen_pair_add_up_to_its_score(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, target="Le chat", attention="cross", layer=1, head=2, query=1, key=3)
    why.show(data)
    drawn = bare.figures["steps-why"]
    source, target = data.model_run.inputs
    site = "decoder.blocks.1.cross_attn.hook_attn_scores"
    model, _ = tc.load("checkpoints/en-fr")
    with torch.inference_mode(), tc.capture(model, site) as activations:
        model(torch.tensor([source]), torch.tensor([target]))
    score = float(activations[site][0, 2, 1, 3])
    values = drawn.arrays["score"]
    assert values.sum() == pytest.approx(score, abs=1e-4)
    assert drawn.rows[0] == "source of the query,source of the key,score" and len(drawn.rows) == 1 + values.size
    n_rows, n_columns = values.shape
    assert float(drawn.rows[n_columns].rsplit(",", 1)[1]) == pytest.approx(float(values[0, -1]), rel=1e-4)
    assert n_rows > n_columns, "the decoder's query has more behind it than the encoder's key"
    title = html.unescape(drawn.title).replace("\u2068", "").replace("\u2069", "")
    assert title == f"Score: query 1 '{data.labels[0][1]}' → key 3 '{data.labels[1][3]}', cross-attention L1.H2"
    assert "They sum to" in bare.words and f"{score:.4f}".replace("-", "−") in bare.words
    assert "Layer norms in between are treated as linear" in bare.words
    assert why.FORBIDDEN not in bare.words


def test_a_key_that_the_mask_hides_says_so(bare: Bare, look: Look):
    data = look("stories", text="The cat sat", attention="decoder", layer=0, head=0, query=1, key=2)
    why.show(data)
    assert why.FORBIDDEN in bare.words
    bare.clear()
    why.show(look("stories", text="The cat sat", attention="decoder", layer=0, head=0, query=2, key=1))
    assert why.FORBIDDEN not in bare.words


def split(*, bias: object = None, frozen: bool = False) -> Any:
    return SimpleNamespace(largest_error=2e-6, bias=bias, has_frozen_norms=frozen)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (split(), "They sum to 0.25, the score before masking, to within 2e-06."),
        (split(bias=np.ones(1)), "They sum to 0.25, to within 2e-06; the position bias adds −3."),
        (split(frozen=True), f"They sum to 0.25, the score before masking, to within 2e-06. {why.FROZEN}"),
    ],
)
def test_the_sum_is_of_the_chosen_cell_with_its_bias(made: Any, told: str):
    scores, bias = np.arange(12.0).reshape(3, 4), np.zeros((3, 4))
    scores[1, 2], bias[1, 2] = 0.25, -3
    quantities = {"scaled": scores, "bias": bias, "mask": np.ones((3, 4))}
    walk = SimpleNamespace(quantities={name: SimpleNamespace(values=values) for name, values in quantities.items()})
    data: Any = SimpleNamespace(walk=walk, query=1, key=2, scores="scaled")
    words = why._sum(data, made).replace(".2500", ".25").replace("3.0000", "3")
    assert words == told
