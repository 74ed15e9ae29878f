"""The page Compare under AppTest: the two sides, and each view against what the models compute by hand."""

import base64
import html
from pathlib import Path

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.explore.compare import samples, texts
from tests.pages.conftest import EXAMPLES, shown_code, url_of, words_of
from tests.pages.explore.compare.compare_page import OpenApp, cells_of, figures_of, open_compare
from transformer_core.analysis import HeadName, run_text
from transformer_core.analysis.flow.divergence import js_distance
from transformer_core.analysis.texts.token_alignment import align_tokens

pytestmark = pytest.mark.usefixtures("checkpoints")
OTHER = EXAMPLES[0].replace("cat", "dog")
HEAD = {"attention": "encoder", "layer": "1", "head": "2"}


def pattern(folder: Path, text: str, layer: int, head: int) -> np.ndarray:
    """A head of the encoder of "en-fr", by hand."""
    model, tokenizer = tc.load(folder / "en-fr")
    site = f"encoder.blocks.{layer}.self_attn.hook_pattern"
    with torch.inference_mode(), tc.capture(model, site) as acts:
        model.encode(torch.tensor([tokenizer.encode(text, eos=True)]))
    return acts[site][0, head].numpy()


def test_two_texts_and_their_difference(open_app: OpenApp, checkpoints: Path):
    app = open_compare(open_app, btext=OTHER, **HEAD)
    figures = figures_of(app)
    assert [*figures] == [
        "A: encoder self-attention L1.H2",
        "B: encoder self-attention L1.H2",
        "B − A",
    ]
    a, b = (pattern(checkpoints, text, 1, 2) for text in (EXAMPLES[0], OTHER))
    shown = [cells_of(figure, "attention") for figure in list(figures.values())[:2]]
    np.testing.assert_allclose(shown, [a, b], atol=1e-6)
    np.testing.assert_allclose(cells_of(figures["B − A"], "difference"), b - a, atol=1e-6)
    words = words_of(app)
    assert f"Jensen-Shannon distance {js_distance(a, b).mean():.2f}" in words
    assert f"{len(a)} queries paired, 1 of them replaced (cat → dog)." in words


def test_something_is_compared_from_the_start(open_app: OpenApp):
    app = open_compare(open_app)
    assert len(figures_of(app)) == 3
    assert {"with", "btext", "bhead", "view"}.isdisjoint(url_of(app))
    assert app.selectbox(key="compare-bhead-box").value == ("cross", 1, 1)  # no example is like the text: the next head
    app.selectbox(key="compare-bhead-box").set_value("").run()
    assert "A and B are identical" in words_of(app)
    assert url_of(app)["btext"] == ""


@pytest.mark.slow
def test_the_heads_that_changed_are_ranked_and_opened(open_app: OpenApp, checkpoints: Path):
    app = open_compare(open_app, btext=OTHER, view="changed", **HEAD)
    grids = figures_of(app)
    found = cells_of(grids["Encoder self-attention: distance between A and B"], "")
    for layer in range(2):
        for head in range(4):
            a, b = (pattern(checkpoints, text, layer, head) for text in (EXAMPLES[0], OTHER))
            assert found[layer, head] == pytest.approx(js_distance(a, b).mean(), abs=1e-5)
    first = next(button for button in app.button if str(button.key).startswith("compare-open-"))
    chosen = str(first.key).removeprefix("compare-open-")
    first.click().run()
    assert not app.exception
    url = url_of(app)
    assert ".".join(url[part] for part in HEAD) == chosen
    assert "view" not in url
    assert len(figures_of(app)) == 3


@pytest.mark.slow
def test_a_head_switched_off_changes_what_comes_behind_it(open_app: OpenApp):
    app = open_compare(open_app, btext="", bchange="off:encoder.0.0", view="changed", **HEAD)
    figures = figures_of(app)
    found = {name: cells_of(figures[f"{name}: distance between A and B"], "") for name in ATTENTIONS}
    np.testing.assert_allclose(found["Encoder self-attention"][0], 0, atol=1e-6)
    assert (found["Encoder self-attention"][1] > 0).all()
    assert (found["Decoder self-attention"][0] < 1e-6).all()  # teacher-forced on the same words, it does not know yet
    assert (found["Cross-attention"] > 0).all()
    assert "encoder L0.H0 zero-ablated" in words_of(app)
    app.selectbox(key="compare-bchange-kind").set_value("").run()
    assert "bchange" not in url_of(app)
    assert "no head changed" in words_of(app)


ATTENTIONS = ("Encoder self-attention", "Decoder self-attention", "Cross-attention")


@pytest.mark.slow
def test_an_evened_out_head_looks_everywhere_alike(open_app: OpenApp):
    app = open_compare(open_app, btext="", bchange="even:encoder.1.2", **HEAD)
    b = cells_of(figures_of(app)["B: encoder self-attention L1.H2"], "attention")
    np.testing.assert_allclose(b, 1 / len(b), atol=1e-6)
    app.multiselect(key="compare-bchange-heads").set_value([HeadName("encoder", 1, 1)]).run()
    assert url_of(app)["bchange"] == "even:encoder.1.1"


@pytest.mark.slow
def test_the_map_has_all_heads_of_both(open_app: OpenApp):
    app = open_compare(open_app, btext=OTHER, view="map", **HEAD)
    (figure,) = figures_of(app).values()
    assert next(trace for trace in figure["data"] if trace["name"] == "heads")["marker"]["symbol"].count("diamond") == 8
    app.segmented_control(key="compare-heads-segments").set_value("a").run()
    app.segmented_control(key="compare-by-segments").set_value("writing").run()
    assert not app.exception
    (figure,) = figures_of(app).values()
    assert "head outputs" in figure["layout"]["title"]["text"]
    assert {button.label for button in app.button} >= {"L0.H0", "L1.H3"}
    app.button(key="compare-map-A-encoder.0.3").click().run()
    url = url_of(app)
    assert (url["layer"], url["head"], url["by"], url["heads"]) == ("0", "3", "writing", "a")


@pytest.mark.slow
def test_two_sides_that_are_the_same_have_each_head_once_on_the_map(open_app: OpenApp):
    app = open_compare(open_app, btext="", view="map", **HEAD)
    assert "so each head appears only once" in words_of(app)
    (figure,) = figures_of(app).values()
    heads = next(trace for trace in figure["data"] if trace["name"] == "heads")["marker"]["symbol"]
    assert len(heads) == 8 and "diamond" not in heads


@pytest.mark.slow
def test_a_model_of_another_shape_has_layers_and_a_map(open_app: OpenApp):
    app = open_compare(open_app, **{"with": "other"}, view="changed")
    assert "the same layers, heads and attentions" in words_of(app)
    app.segmented_control(key="compare-view-segments").set_value("layers").run()
    figure = next(figure for title, figure in figures_of(app).items() if title.startswith("Encoder: CKA"))
    np.testing.assert_equal(cells_of(figure, "similarity").shape, (3, 2))


@pytest.mark.slow
def test_layers_of_a_model_are_like_themselves(open_app: OpenApp):
    app = open_compare(open_app, btext="", view="layers", bhead="encoder.0.0")
    for figure in figures_of(app).values():
        np.testing.assert_allclose(cells_of(figure, "similarity").diagonal(), 1, atol=1e-5)
    app = open_compare(open_app, btext="The dog.", view="layers")
    assert "both models read A’s text here" in words_of(app)


@pytest.mark.slow
def test_many_texts_have_a_mean_and_ends(open_app: OpenApp, checkpoints: Path):
    app = open_compare(open_app, view="texts", btext=OTHER, cell="3.1", **HEAD)
    (figure,) = figures_of(app).values()
    assert next(trace for trace in figure["data"] if trace["name"] == "texts")["x"]
    model, tokenizer = tc.load(checkpoints / "en-fr")
    entropies = []
    for text in EXAMPLES:
        rows = run_text(model, tokenizer, text).attention_maps["encoder"].pattern(1, 2).astype(np.float64)
        entropies.append(-(rows * np.log(rows)).sum(axis=1).mean())
    assert f"mean {np.mean(entropies):.2f} nats, standard deviation {np.std(entropies):.2f}" in words_of(app)
    lowest = EXAMPLES[int(np.argmin(entropies))]
    app.button(key="compare-text-Lowest-0").click().run()
    assert app.text_input(key="text").value == lowest
    assert {"view", "cell"}.isdisjoint(url_of(app))  # the cell was one of another text


@pytest.mark.slow
def test_a_pasted_list_is_read_and_is_in_the_link(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch):
    for module in (samples, texts):
        monkeypatch.setattr(module, "MOST_LINES", 5)
    app = open_compare(open_app, view="texts", texts="list", measure="distance", **HEAD)
    assert "The list is empty; paste texts, one per line." in words_of(app)
    app.text_area(key="compare-list-box").set_value("The cat sees.\n\n The dog sees \nThe cat sees.").run()
    assert "over 2 texts" in words_of(app)
    assert url_of(app)["list"].splitlines()[0] == "The cat sees."
    again = open_compare(open_app, **url_of(app))
    assert "over 2 texts" in words_of(again)
    app.text_area(key="compare-list-box").set_value("\n".join(f"The cat {i} sees." for i in range(400))).run()
    words = words_of(app)
    assert "The list has 400 texts; only the first 5 are used." in words
    assert "too many for a link" in words
    assert "over 5 texts" in words
    assert "list" not in url_of(app)


@pytest.mark.slow
def test_of_decoders_that_go_on_differently_the_prompts_are_compared(
    open_app: OpenApp, three_kinds: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(three_kinds))
    app = open_compare(open_app, model="tales", text="The cat sees the", btext="The cat sees a")
    model, tokenizer = tc.load(three_kinds / "tales")
    readings = [run_text(model, tokenizer, text, max_tokens=64) for text in ("The cat sees the", "The cat sees a")]
    prompts = align_tokens(*(model_run.target[: model_run.n_given] for model_run in readings))
    assert cells_of(figures_of(app)["B − A"], "difference").shape[0] == len(prompts.pairs)
    assert "only the prompt is compared" in words_of(app)
    for view in ("changed", "map", "layers"):
        app = open_compare(open_app, model="tales", text="The cat sees the", btext="The cat sees a", view=view)
        assert figures_of(app)
        names: dict[str, object] = {}
        exec(shown_code(app), names)


OFF = {"btext": "", "bchange": "off:encoder.0.0"}


@pytest.mark.slow
def test_what_a_head_that_is_switched_off_does_to_the_output(open_app: OpenApp, checkpoints: Path):
    app = open_compare(open_app, view="effect", **OFF, **HEAD)
    (figure,) = figures_of(app).values()
    assert figure["layout"]["title"]["text"] == "Change in log-probability per output token, B − A"
    model, tokenizer = tc.load(checkpoints / "en-fr")
    src = torch.tensor([tokenizer.encode(EXAMPLES[0], eos=True)])
    tokens = tc.greedy_decode(model, src, max_new_tokens=31).tokens
    losses = []
    for edits in ({}, {"encoder.blocks.0.self_attn.hook_z": tc.zero_heads([0])}):
        with torch.inference_mode(), tc.intervene(model, edits):
            log_probs = model(src, tokens[:, :-1]).log_softmax(dim=-1)[0]
            own = tokenizer.decode(tc.greedy_decode(model, src, max_new_tokens=31).tokens[0])
        losses.append(log_probs.gather(-1, tokens[0, 1:, None])[:, 0].numpy())
    n = len(losses[0]) if tokens[0, -1] == tokenizer.eos_id else len(losses[0]) - 1
    shown = np.frombuffer(base64.b64decode(figure["data"][0]["y"]["bdata"]), dtype=figure["data"][0]["y"]["dtype"])
    np.testing.assert_allclose(shown, (losses[1] - losses[0])[:n], atol=1e-5)
    before, after = (-loss[:n].mean() for loss in losses)
    words = words_of(app)
    assert f"loss {before:.3f} → {after:.3f} nats per token" in words
    assert own.strip() in html.unescape(words) or "B generates the same" in words


@pytest.mark.slow
def test_a_head_that_can_change_is_shown_where_heads_are_switched_off(open_app: OpenApp):
    app = open_compare(open_app, btext="", **HEAD | {"layer": "0", "head": "0"})
    app.selectbox(key="compare-bchange-kind").set_value("off").run()
    assert not app.exception
    url = url_of(app)
    assert url["bchange"] == "off:encoder.0.0"
    assert (url["attention"], url["layer"], url["head"]) != ("encoder", "0", "0")
    assert np.abs(cells_of(figures_of(app)["B − A"], "difference")).max() > 1e-3
    assert "zero-ablated in B" not in words_of(app)
    app = open_compare(open_app, **OFF, **HEAD | {"layer": "0", "head": "0"})
    assert "zero-ablated in B" in words_of(app)


def test_three_maps_have_rows_of_one_height(open_app: OpenApp):
    figures = figures_of(open_compare(open_app, btext=OTHER, **HEAD)).values()
    margins = [figure["layout"]["margin"] for figure in figures]
    assert len(margins) == 3 and margins[0] == margins[1] == margins[2]
    assert {figure["layout"]["height"] for figure in figures} == {400}
    assert "cat→dog" in [*figures][2]["layout"]["xaxis"]["ticktext"]


@pytest.mark.slow
def test_an_ablation_is_predicted_before_its_effect_is_shown(open_app: OpenApp):
    app = open_compare(open_app, view="effect", bchange="off:encoder.1.0")
    assert "Effect of B’s change" in words_of(app) and len(figures_of(app)) == 1
    app.toggle(key="predict-first-box").set_value(True).run()
    assert not app.exception
    assert "Effect of B’s change" not in words_of(app) and "generates" not in words_of(app) and not figures_of(app)
    app.selectbox(key="predict-output-box").set_value(0).run()
    app.number_input(key="predict-probability-box").set_value(0.5).run()
    app.button(key="predict-check").click().run()
    assert not app.exception
    words = words_of(app)
    assert "Effect of B’s change" in words and len(figures_of(app)) == 1 and "hl-predict-verdict" in words
    app.session_state["predict-calibration"] = True
    app.run()
    assert "Calibration of your predictions" in figures_of(app)
