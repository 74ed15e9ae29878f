"""Attention across the layers: which figures a model has, and where a text is too long."""

from pathlib import Path

import pytest

from headlight.analysis.flow import rollout
from pages.explore.heads import across, view_fields
from tests.pages.conftest import PROMPTS, words_of
from tests.pages.explore.heads.heads_parts import shown
from tests.pages.explore.parts import Drawing

pytestmark = pytest.mark.usefixtures("checkpoints")


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
        monkeypatch.setattr(rollout, "MOST_TOKENS", {"rollout": 1, "flow": 1} | {method: most})
        drawings.clear()
        words = words_of(shown(across.show, across=method))
        assert bool(drawings) == is_drawn
        assert (f"{beginning} limited to texts of {most} tokens; this one has 31" in words) == (not is_drawn)
