"""Attention across the layers: each side against a product by hand, its names, and where a text is too long."""

from pathlib import Path

import numpy as np
import pytest

from pages.explore.heads import across, view_fields
from tests.pages.conftest import PROMPTS, words_of
from tests.pages.explore.heads.heads_parts import TOKENS, shown, weights
from tests.pages.explore.parts import Drawing
from transformer_core.analysis.flow import across_layers

pytestmark = pytest.mark.usefixtures("checkpoints")
PARTS = ["heads-across-source-source", "heads-across-target-source", "heads-across-target-target"]


def rolled(layers: np.ndarray) -> np.ndarray:
    """Rollout of a self-attention [layer, query, key]: half of each layer goes on as it was."""
    total = np.eye(layers.shape[1])
    for layer in layers:
        total = (layer + np.eye(len(layer))) / 2 @ total
    return total


def test_each_side_has_a_figure_of_its_own(two_models: Path, drawings: dict[str, Drawing]):
    app = shown(across.show, across="rollout")
    assert "Assumptions:" in words_of(app)
    assert [*drawings] == PARTS
    of_source = rolled(weights(two_models).mean(axis=1).astype(np.float64))
    drawn = drawings[PARTS[0]]
    np.testing.assert_allclose(drawn.cells("attention"), of_source, atol=1e-5)
    drawn.check("pattern", drawn.csv[0], of_source, atol=1e-5)
    assert drawn.arrays["query_tokens"].tolist() == drawn.arrays["key_tokens"].tolist() == TOKENS
    sides = ["source → source", "source → decoder input", "decoder input → decoder input"]
    assert [drawings[part].title for part in PARTS] == [f"Attention rollout: {side}" for side in sides]
    assert [drawings[part].name for part in PARTS] == [part.replace("heads-across", "en-fr-rollout") for part in PARTS]
    cross, own = drawings[PARTS[1]], drawings[PARTS[2]]
    axes = cross.figure.layout
    assert "final states (decoder input)" in axes.yaxis.title.text
    assert "inputs (source)" in axes.xaxis.title.text
    assert cross.arrays["key_tokens"].tolist() == TOKENS
    assert cross.arrays["query_tokens"][0] == "<bos>" and len(cross.arrays["query_tokens"]) == 31
    shares = cross.arrays["pattern"].sum(axis=1) + own.arrays["pattern"].sum(axis=1)
    np.testing.assert_allclose(shares, 1, atol=1e-5)
    assert cross.arrays["mask"].all(), "all of the source can be reached"
    np.testing.assert_array_equal(own.arrays["mask"], np.tri(31, dtype=bool))


def test_it_is_folded_until_it_is_asked_for_and_a_model_of_one_stack_has_one_figure(
    three_kinds_here: Path, drawings: dict[str, Drawing]
):
    app, box = shown(across.show), f"{view_fields.ACROSS.key}-unfolded"
    assert not drawings and not app.segmented_control and not app.session_state[box]
    app = shown(across.show, model="gaps", attention="encoder", layer=0, head=0, across="flow")
    assert app.session_state[box] and app.segmented_control[0].value == "flow"
    assert [drawn.title for drawn in drawings.values()] == ["Attention flow: text → text"]
    drawings.clear()
    shown(across.show, model="tales", text=PROMPTS[1], attention="decoder", layer=0, across="flow")
    assert [*drawings] == ["heads-across-target-target"]


@pytest.mark.parametrize(("method", "beginning"), [("rollout", "Attention rollout is"), ("flow", "Attention flow is")])
def test_of_a_text_that_is_too_long_only_that_is_said(
    method: str, beginning: str, drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch
):
    """The source has 7 tokens, the output 31; the other method's limit does not matter."""
    for most, is_drawn in ((31, True), (30, False)):
        monkeypatch.setattr(across_layers, "MOST_TOKENS", {"rollout": 1, "flow": 1} | {method: most})
        drawings.clear()
        words = words_of(shown(across.show, across=method))
        assert bool(drawings) == is_drawn
        assert (f"{beginning} limited to texts of {most} tokens; this one has 31" in words) == (not is_drawn)
