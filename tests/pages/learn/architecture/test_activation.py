"""What is drawn of a hook point: whose rows and columns, of which head, and what is said of the numbers."""

import re

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.architecture import activation
from pages.shared.view import state
from tests.pages.learn.architecture.conftest import Look
from tests.pages.learn.bare import Bare

FIGURE = "architecture-activation"
TEXT = "The cat sleeps."


def captured(model_name: str, site: str, *inputs: tuple[int, ...]) -> np.ndarray:
    model, _ = tc.load(f"checkpoints/{model_name}")
    with torch.inference_mode(), tc.capture(model, site) as activations:
        model(*(torch.tensor([ids]) for ids in inputs))
    return np.asarray(activations[site][0].numpy())


def facts(bare: Bare) -> dict[str, str]:
    return dict(re.findall(r"<div><span>([^<]+)</span>([^<]+)</div>", bare.words))


def test_a_cross_attentions_pattern_has_queries_of_the_target_and_keys_of_the_source(bare: Bare, look: Look):
    site = "decoder.blocks.1.cross_attn.hook_pattern"
    data = look("en-fr", text=TEXT, target="Le chat", block="decoder.1.cross_attn", site=site, head=2)
    activation.show(data)
    drawn = bare.figures[FIGURE]
    source, target = data.model_run.inputs
    expected = captured("en-fr", site, source, target)[2]
    np.testing.assert_allclose(drawn.arrays["values"], expected, atol=1e-5)
    assert drawn.arrays["columns"].tolist() == [*range(len(source))]
    assert drawn.rows[0] == "position,column,value" and drawn.rows[1].startswith(f"0 {data.model_run.target[0]},0,")
    assert drawn.rows[-1].startswith(f"{len(target) - 1} {data.model_run.target[-1]},{len(source) - 1},")
    told = facts(bare)
    assert told["elements"] == str(expected.size) and float(told["mean"]) == pytest.approx(expected.mean(), rel=1e-3)
    assert float(told["standard deviation"]) == pytest.approx(expected.std(), rel=1e-3)
    assert "0" in told["exactly 0"] and drawn.title == "Multi-head cross-attention, decoder, layer 1"
    layout = str(drawn.layout)
    assert "query" in layout and "key" in layout and data.model_run.source[1] in layout


def test_the_rows_of_keys_are_the_keys_own_tokens(bare: Bare, look: Look):
    site = "decoder.blocks.0.cross_attn.hook_k"
    data = look("en-fr", text=TEXT, target="Le chat", block="decoder.0.cross_attn", site=site, head=1)
    activation.show(data)
    drawn = bare.figures[FIGURE]
    np.testing.assert_allclose(drawn.arrays["values"], captured("en-fr", site, *data.model_run.inputs)[1], atol=1e-5)
    names = [row.split(",")[0] for row in drawn.rows[1::32]]
    assert names == [f"{place} {label}" for place, label in enumerate(data.model_run.source)]
    activation.show(
        look("en-fr", text=TEXT, target="Le chat", block="decoder.0.cross_attn", site=site.replace("_k", "_q"))
    )
    names = [row.split(",")[0] for row in bare.figures[FIGURE].rows[1::32]]
    assert names == [f"{place} {label}" for place, label in enumerate(data.model_run.target)]


def test_cells_that_the_mask_forbids_are_not_counted(bare: Bare, look: Look):
    site = "decoder.blocks.0.self_attn.hook_pattern"
    data = look("en-fr", text=TEXT, target="Le chat", block="decoder.0.self_attn", site=site)
    activation.show(data)
    n = len(data.model_run.inputs[1])
    assert facts(bare)["elements"] == str(n * (n + 1) // 2)


def test_of_many_tokens_the_most_probable_are_drawn_and_all_are_counted(bare: Bare, look: Look):
    data = look("stories", text="The cat", block="unembed")
    activation.show(data)
    drawn = bare.figures[FIGURE]
    model, tokenizer = tc.load("checkpoints/stories")
    with torch.inference_mode():
        logits = model(torch.tensor([data.model_run.inputs[0]]))[0].numpy()
    chosen = drawn.arrays["columns"].tolist()
    assert {*chosen} == {*np.argsort(-logits.max(axis=0), kind="stable")[:32].tolist()}
    np.testing.assert_allclose(drawn.arrays["values"], logits[:, chosen], atol=1e-4)
    assert "shows the 32 of 1,000 tokens" in bare.words or "shows the 32 of 1000 tokens" in bare.words
    told = facts(bare)
    assert told["elements"] == f"{logits.size:,}" and float(told["mean"]) == pytest.approx(logits.mean(), rel=1e-3)
    assert drawn.rows[1].split(",")[1] == str(chosen[0])
    assert tokenizer.labels([chosen[0]])[0][:4] in str(drawn.figure.to_json())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "site", "shown"),
    [
        ("encoder.1.self_attn", None, "encoder.blocks.1.self_attn.hook_pattern"),
        ("encoder.1.mlp", None, "encoder.blocks.1.mlp.hook_post"),
        ("encoder.1.mlp", "encoder.blocks.1.self_attn.hook_pattern", "encoder.blocks.1.mlp.hook_post"),
        ("encoder.1.mlp", "encoder.blocks.1.mlp.hook_pre", "encoder.blocks.1.mlp.hook_pre"),
        ("encoder.embed", None, "encoder.hook_embed"),
    ],
)
def test_the_chosen_hook_point_is_shown_or_the_one_to_look_at_first(
    bare: Bare, look: Look, block: str, site: str | None, shown: str
):
    activation.show(look("fill-in", text=TEXT, block=block, site=site))
    assert bare.session["architecture-site-box"] == shown
    widget = bare.widgets["architecture-site-box"]
    assert shown in widget.options and widget.names[widget.options.index(shown)].endswith(shown.rpartition(".")[2])
    assert (state.HEAD.key + "-box" in bare.widgets) == ("attn" in block)


def test_a_block_that_passes_nothing_on_says_so(bare: Bare, look: Look):
    boxes = look("fill-in", text=TEXT).plan.boxes
    name = next(name for name, box in boxes.items() if box.part == "rotary")
    activation.show(look("fill-in", text=TEXT, block=name))
    assert "This block has no hook point" in bare.words and not bare.figures


@pytest.mark.parametrize(("head", "n_kv_heads", "shown"), [(3, 2, 1), (1, 2, 1), (0, 2, 0), (3, 4, 3)])
def test_of_shared_keys_no_more_heads_can_be_chosen_than_there_are(
    bare: Bare, look: Look, head: int, n_kv_heads: int, shown: int
):
    site = "encoder.blocks.0.self_attn.hook_k"
    data = look(
        "fill-in", text=TEXT, block="encoder.0.self_attn", site=site, head=head, config={"n_kv_heads": n_kv_heads}
    )
    stage = next(stage for stage in activation.stages(data.card.config, data.box) if stage.site == site)
    activation._choose_head(data, stage)
    assert bare.widgets["head-box"].options == [*range(n_kv_heads)] and bare.session["head-box"] == shown
