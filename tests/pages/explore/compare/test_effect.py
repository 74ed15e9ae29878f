"""The effect on the output: where it is measured, and the blanks of a masked model against plain forwards."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.explore.compare import effect
from pages.explore.compare.ablation import ablation
from pages.explore.compare.data import ComparisonData
from pages.shared.sources import Source
from tests.pages.conftest import EXAMPLES, GAPS, words_of
from tests.pages.explore.compare.compare_parts import comparison, loaded, run, shown
from tests.pages.explore.compare.test_sides import side, weights
from tests.pages.explore.parts import Drawing

OFF: dict[str, Any] = {"change": ablation("zero", [("encoder", 0, 1), ("cross", 1, 2)])}
ZEROED = ablation("zero", [("cross", 0, 0)])


def draw(data: ComparisonData) -> None:
    effect.show(data)
    effect.summarise(data)


SNAPSHOT = weights(source=Source("models/one", "1", step=3))


@pytest.mark.parametrize(
    ("of_b", "is_one"),
    [
        ({"change": ZEROED}, True),
        ({"of": SNAPSHOT}, True),
        ({}, False),  # nothing was changed
        ({"of": SNAPSHOT, "text": "a c"}, False),
        ({"of": weights("other")}, False),
    ],
)
def test_there_is_an_effect_between_two_versions_of_one_model_on_one_text(of_b: dict[str, Any], is_one: bool):
    data = comparison(run({}), run({}), side("A"), side("B", **of_b))
    assert effect.applies(data) == is_one
    assert effect.applies(replace(data, a=data.b, b=data.a)) == is_one


def test_where_nothing_is_measured_that_is_said(two_models: Path, drawings: dict[str, Drawing]):
    data = comparison(run({}), run({}), side("A"), side("B", text="a c", change=ZEROED))
    app = shown(lambda: draw(data))
    assert "The effect is measured between two versions of one model on the same text." in words_of(app)
    assert "Effect of B" not in words_of(app) and not drawings
    assert len(effect.code(data)) == 2, "what each side says"
    silent = comparison(
        run({}, predicts=False),
        run({}, predicts=False),
        side("A"),
        side("B", change=ZEROED),
    )
    assert "has no language-modeling head" in words_of(shown(lambda: effect.show(silent)))


def blanks(folder: Path, text: str) -> ComparisonData:
    comparisons: list[ComparisonData] = []
    a = loaded("A", folder, "gaps", text=text)
    b = loaded("B", folder, "gaps", text=text, change=ablation("zero", [("encoder", 0, 0)]))
    shown(lambda: comparisons.append(ComparisonData.of(a, b)))
    return comparisons[0]


@torch.inference_mode()
def test_the_output_of_a_masked_model_is_the_most_probable_token_of_each_blank(
    three_kinds: Path, drawings: dict[str, Drawing]
):
    model, tokenizer = tc.load(three_kinds / "gaps")
    ids = torch.tensor([tokenizer.encode_for(GAPS[1], "encoder_only")])
    places = [place for place, token in enumerate(ids[0].tolist()) if token == tokenizer.mask_id]
    a = model(ids)[0, places].log_softmax(-1)
    with tc.intervene(model, {"encoder.blocks.0.self_attn.hook_z": tc.zero_heads([0])}):
        b = model(ids)[0, places].log_softmax(-1)
    best = a.argmax(dim=-1, keepdim=True)
    expected = (b - a).gather(1, best)[:, 0].numpy()
    data = blanks(three_kinds, GAPS[1])
    shown(lambda: effect.show(data))
    np.testing.assert_allclose(np.array(drawings["compare-effect"].trace("").y), expected, atol=1e-5)
    drawings.clear()
    data = blanks(three_kinds, "The cat sees the dog.")
    words = words_of(shown(lambda: draw(data)))
    assert "This text has no blanks" in words and "Effect of B" not in words
    assert not drawings and len(effect.code(data)) == 2


def test_without_ablated_heads_there_is_nothing_to_predict(two_models: Path):
    edits: list[Any] = []

    def look() -> None:
        a = loaded("A", two_models)
        for b in (loaded("B", two_models), loaded("B", two_models, text=EXAMPLES[0], **OFF)):
            edits.append(effect.edit(ComparisonData.of(a, b)))
        off = loaded("A", two_models, **OFF), loaded("B", two_models, **OFF)
        edits.append(effect.edit(ComparisonData.of(*off)))

    shown(look)
    assert edits == [None, None, None]
