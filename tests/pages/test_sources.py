"""Where a model comes from, and what is switched off in it: against interventions that are written out."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import transformer_core as tc
from pages.shared import models
from pages.shared.sources import CHANGES, Source, parse_change
from tests.pages.train.small_films import STEPS, save_run
from transformer_core.analysis.trace.attentions import ATTENTIONS
from transformer_core.errors import ConfigError, HeadlightError

pytestmark = pytest.mark.usefixtures("three_kinds_here")
TOKENS: dict[str, tuple[torch.Tensor, ...]] = {
    "en-fr": (torch.tensor([[4, 7, 5, 9, 2]]), torch.tensor([[1, 6, 8]])),
    "tales": (torch.arange(40, 52)[None],),
    "gaps": (torch.tensor([[4, 7, 5, 9, 2]]),),
}
CHANGED: dict[str, list[tuple[str, int, int]]] = {  # heads that are changed: of several attentions and layers
    "en-fr": [("encoder", 1, 3), ("decoder", 0, 0), ("cross", 1, 2), ("cross", 1, 0)],
    "tales": [("decoder", 0, 1), ("decoder", 0, 3)],
    "gaps": [("encoder", 2, 0), ("encoder", 0, 1)],
}


def source_of(name: str, kind: str = "", heads: Any = ()) -> Source:
    change = f"{kind}:" + "+".join(f"{attention}.{layer}.{head}" for attention, layer, head in heads) if kind else ""
    return Source.of(models.available()[name], change=change)


@torch.inference_mode()
def outputs(model: tc.Transformer, name: str, interventions: Any = None) -> tuple[torch.Tensor, tc.Activations]:
    """The logits and every pattern of a forward, with interventions that are written out."""
    with tc.intervene(model, interventions or {}), tc.capture(model, "*.hook_pattern", "*.hook_mask") as acts:
        logits = model(*TOKENS[name])
    return logits, acts


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_that_of_each_head_that_it_names(name: str, kind: str):
    """Switched off, z is 0; evened out, a head looks at all that it may, alike."""
    source = source_of(name, kind, CHANGED[name])
    model, _ = source.load()
    plain, masks = outputs(model, name)

    def change(attention: str, layer: int) -> Any:
        heads = [head for where, at, head in CHANGED[name] if (where, at) == (attention, layer)]

        def changed(value: torch.Tensor, site: tc.Site) -> torch.Tensor:
            if kind == "off":
                value[:, heads] = 0
            else:
                mask = masks[ATTENTIONS[attention].site(layer, "hook_mask")].expand(1, 1, *value.shape[2:]).float()
                value[:, heads] = mask / mask.sum(dim=-1, keepdim=True)
            return value

        return changed

    hook = "hook_z" if kind == "off" else "hook_pattern"
    by_hand = {ATTENTIONS[where].site(layer, hook): change(where, layer) for where, layer, _ in CHANGED[name]}
    expected, patterns = outputs(model, name, by_hand)
    with source.changed(model):
        found, seen = outputs(model, name)
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(found, plain)
    torch.testing.assert_close(outputs(model, name)[0], plain)  # after the context, the model is as it was
    for site in patterns if kind == "even" else ():
        torch.testing.assert_close(seen[site], patterns[site])


@pytest.mark.parametrize(
    ("name", "head"), [("en-fr", ("cross", 0, 4)), ("en-fr", ("decoder", 2, 0)), ("tales", ("encoder", 0, 0))]
)
def test_a_head_that_is_not_there_is_an_error_in_a_sentence(name: str, head: tuple[str, int, int]):
    source = source_of(name, "off", [("decoder", 0, 0), head])
    model, _ = source.load()
    said = r"this model has no head {} L{}\.H{}; choose another to change".format(*head)
    with pytest.raises(ConfigError, match=f"^{said}$"), source.changed(model):
        pass


@given(st.text(max_size=80) | st.text("ofevn:crd.+0123456789 \n", max_size=40))
@example("off:cross.1.2+")
@example("off:cross.1.12345")
@example("off:cross.1.2\n")
def test_what_is_written_is_a_change_or_an_error_in_a_sentence(change: str):
    try:
        kind, heads = parse_change(change)
    except ConfigError as error:
        assert str(error).endswith("such as off:cross.1.2+cross.1.3") and len(str(error)) < 250
    else:
        assert (kind in CHANGES and heads) or (kind, heads, change) == ("", [], "")
        assert all(attention and layer >= 0 and head >= 0 for attention, layer, head in heads)


def test_a_snapshot_of_a_run_has_the_weights_of_its_film(tmp_path: Path):
    made = save_run(tmp_path / "run")
    for step, expected in zip(STEPS, made, strict=True):
        source = Source(str(tmp_path / "run"), "first", step=step, change="off:cross.0.1")
        model, _ = source.load()
        assert source.load()[0] is model  # once for all sessions
        for name, weight in expected.state_dict().items():  # films are in half precision
            torch.testing.assert_close(model.state_dict()[name], weight, rtol=0, atol=0.01)
        with source.changed(model), torch.inference_mode(), tc.capture(model, "*.cross_attn.hook_z") as acts:
            model(torch.tensor([[4, 5, 6]]), torch.tensor([[1, 4]]))
        assert not acts["decoder.blocks.0.cross_attn.hook_z"][:, 1].any()
        assert acts["decoder.blocks.0.cross_attn.hook_z"][:, 0].any()
    with pytest.raises(HeadlightError, match="the weights of step 7 were replaced"):
        Source(str(tmp_path / "run"), "first", step=7).load()
