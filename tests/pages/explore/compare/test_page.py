"""The Compare page under AppTest: the two sides, links and controls, against what the models compute by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.flow.divergence import js_divergence
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.texts.side_by_side import align_tokens
from headlight.analysis.trace.model_run import run_text
from pages.explore.compare import samples, texts
from pages.explore.compare.ablation import ablation
from pages.explore.compare.view_fields import CHANGE_B
from tests.pages.conftest import EXAMPLES, OpenApp, shown_code, url_of, words_of
from tests.pages.explore.compare.compare_parts import cells_of, figures_of, open_compare

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
    assert [*figures] == ["A: encoder self-attention L1.H2", "B: encoder self-attention L1.H2", "B − A"]
    a, b = (pattern(checkpoints, text, 1, 2) for text in (EXAMPLES[0], OTHER))
    shown = [cells_of(figure, "attention") for figure in list(figures.values())[:2]]
    np.testing.assert_allclose(shown, [a, b], atol=1e-6)
    np.testing.assert_allclose(cells_of(figures["B − A"], "difference"), b - a, atol=1e-6)
    words = words_of(app)
    assert f"Jensen-Shannon distance {np.sqrt(js_divergence(a, b)).mean():.2f}" in words
    assert f"{len(a)} queries paired, 1 of them replaced (cat → dog)." in words


def test_something_is_compared_from_the_start(open_app: OpenApp):
    app = open_compare(open_app)
    assert len(figures_of(app)) == 3
    assert {"with", "btext", "bhead", "view"}.isdisjoint(url_of(app))
    assert app.selectbox(key="compare-bhead-box").value == ("cross", 1, 1)  # no example is like the text: the next head
    app.selectbox(key="compare-bhead-box").set_value("").run()
    assert "A and B are identical" in words_of(app)
    assert url_of(app)["btext"] == ""


def test_an_ablated_head_changes_what_comes_after_it_and_a_uniform_one_its_pattern(open_app: OpenApp):
    app = open_compare(open_app, btext="", bchange="off:encoder.0.0", view="changed", **HEAD)
    names = ("Encoder self-attention", "Decoder self-attention", "Cross-attention")
    encoder, decoder, cross = (cells_of(figures_of(app)[f"{name}: distance between A and B"], "") for name in names)
    np.testing.assert_allclose(encoder[0], 0, atol=1e-6)
    assert (encoder[1] > 0).all() and (cross > 0).all()
    assert (decoder[0] < 1e-6).all(), "teacher-forced on the same words, it does not know yet"
    app.selectbox(key="compare-bchange-method").set_value("").run()
    assert "bchange" not in url_of(app) and "no head changed" in words_of(app)
    app = open_compare(open_app, btext="", bchange="even:encoder.1.2", **HEAD)
    b = cells_of(figures_of(app)["B: encoder self-attention L1.H2"], "attention")
    np.testing.assert_allclose(b, 1 / len(b), atol=1e-6)
    app.multiselect(key="compare-bchange-heads").set_value([HeadName("encoder", 1, 1)]).run()
    assert CHANGE_B.read(url_of(app)["bchange"]) == ablation("uniform", [("encoder", 1, 1)])


def test_a_pasted_list_is_read_and_is_in_the_link(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch):
    for module in (samples, texts):
        monkeypatch.setattr(module, "MOST_LINES", 5)
    app = open_compare(open_app, view="texts", texts="list", measure="distance", **HEAD)
    assert "The list is empty" in words_of(app)
    app.text_area(key="compare-list-box").set_value("The cat sees.\n\n The dog sees \nThe cat sees.").run()
    assert "over 2 texts" in words_of(app)
    assert url_of(app)["list"].splitlines()[0] == "The cat sees."
    assert "over 2 texts" in words_of(open_compare(open_app, **url_of(app)))
    app.text_area(key="compare-list-box").set_value("\n".join(f"The cat {i} sees." for i in range(400))).run()
    for text in ("The list has 400 texts; only the first 5 are used.", "too many for a link", "over 5 texts"):
        assert text in words_of(app)
    assert "list" not in url_of(app)


def test_of_decoders_that_go_on_differently_the_prompts_are_compared(open_app: OpenApp, three_kinds_here: Path):
    prompts = ("The cat sees the", "The cat sees a")
    tales = {"model": "tales", "text": prompts[0], "btext": prompts[1]}
    app = open_compare(open_app, **tales)
    model, tokenizer = tc.load(three_kinds_here / "tales")
    runs = [run_text(model, tokenizer, text, max_tokens=64) for text in prompts]
    aligned = align_tokens(*(run.target[: run.n_given] for run in runs))
    assert cells_of(figures_of(app)["B − A"], "difference").shape[0] == len(aligned.pairs)
    assert "only the prompt is compared" in words_of(app)
    for view in ("changed", "map", "layers"):
        app = open_compare(open_app, **tales, view=view)
        assert figures_of(app)
        exec(shown_code(app), {})


def test_a_head_that_can_change_is_shown_where_heads_are_ablated(open_app: OpenApp):
    first = HEAD | {"layer": "0", "head": "0"}
    app = open_compare(open_app, btext="", **first)
    app.selectbox(key="compare-bchange-method").set_value("zero").run()
    assert not app.exception
    url = url_of(app)
    assert CHANGE_B.read(url["bchange"]) == ablation("zero", [("encoder", 0, 0)])
    assert (url["attention"], url["layer"], url["head"]) != ("encoder", "0", "0")
    assert np.abs(cells_of(figures_of(app)["B − A"], "difference")).max() > 1e-3
    assert "zero-ablated in B" not in words_of(app)
    app = open_compare(open_app, btext="", bchange="off:encoder.0.0", **first)
    assert "zero-ablated in B" in words_of(app)


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


def test_many_texts_have_a_mean_and_open_in_the_bar(open_app: OpenApp, checkpoints: Path):
    app = open_compare(open_app, view="texts", btext=OTHER, cell="3.1", **HEAD)
    model, tokenizer = tc.load(checkpoints / "en-fr")
    entropies = []
    for text in EXAMPLES:
        rows = run_text(model, tokenizer, text).attention_maps["encoder"].pattern(1, 2).astype(np.float64)
        entropies.append(-(rows * np.log(rows)).sum(axis=1).mean())
    assert f"mean {np.mean(entropies):.2f} nats, standard deviation {np.std(entropies):.2f}" in words_of(app)
    lowest = EXAMPLES[int(np.argmin(entropies))]
    app.button(key="compare-text-Lowest-0").click().run()
    assert app.text_input(key="text-line").value == lowest
    assert {"view", "cell"}.isdisjoint(url_of(app)), "the cell was one of another text"
