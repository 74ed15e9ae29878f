"""The Start page: every number on the stage equals the capture, at every zoom level, for all five shipped models."""

import re
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.analysis.blueprint.plan import blueprint_of
from headlight.analysis.interventions.records import Ablation, Component, InterventionStack
from headlight.analysis.interventions.stacks import to_json
from headlight.analysis.stage.panels import Panel, Zoom
from headlight.analysis.trace.dropout import drop
from pages.learn.start import view_fields
from pages.learn.start.components import stage
from pages.shared.page import pages
from pages.shared.view import state
from tests.conftest import ROOT
from tests.pages.conftest import OpenApp, component, shown_code, url_of, words_of
from tests.pages.learn.bare import Bare, run_lines, unpacked


def sent(app: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray], list[np.ndarray]]:
    """The header of the stage, the values of its panels by hook point, and the scores of the distributions."""
    header, rest = unpacked(component(app, "stage").bytes)
    numbers = np.frombuffer(rest, dtype="<f4")
    panels = panels_of(header)
    *parts, scores = np.split(numbers, np.cumsum([int(np.prod(panel["size"])) for panel in panels]))
    values = {panel["site"]: part.reshape(panel["size"]) for panel, part in zip(panels, parts, strict=True)}
    n = len(header["distributions"])
    return header, values, [*scores.reshape(n, -1)] if n else []


def panels_of(header: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for lane in header["lanes"] for panel in lane["panels"]]


def open_start(open_app: OpenApp, **parameters: str) -> AppTest:
    app = open_app("start", **parameters)
    assert not app.exception and not app.error and not app.warning
    return app


def assert_captured(app: AppTest, name: str, edits: Mapping[str, Any] = MappingProxyType({})) -> None:
    """All that the stage shows is what a plain forward gives, as exactly as float32 allows for numbers of that size."""
    header, values, scores = sent(app)
    model, _ = tc.load(ROOT / "checkpoints" / name)
    inputs = [torch.tensor([header["sides"][side]["ids"]]) for side in ("source", "target") if side in header["sides"]]
    with torch.inference_mode(), tc.intervene(model, edits), tc.capture(model, "*") as acts:
        (logits,) = model(*inputs)
    assert values
    for panel in panels_of(header):
        captured, shown = acts[panel["site"]][0].numpy(), values[panel["site"]]
        if panel["shape"] == "heads":
            mask = np.broadcast_to(acts[panel["site"].replace("pattern", "mask")][0].numpy(), captured.shape)
            captured = np.where(mask, captured, -np.inf)
        elif panel["shape"] == "head vectors":
            captured = np.concatenate([*captured], axis=-1)
        largest = np.abs(captured[np.isfinite(captured)]).max()
        np.testing.assert_allclose(shown, captured, rtol=0, atol=4e-5 * max(1, largest), err_msg=panel["site"])
    for distribution, of_step in zip(header["distributions"], scores, strict=True):
        log_probs = logits[header["rows"][distribution["nWritten"]]].log_softmax(dim=-1)
        for row in distribution["rows"]:
            assert row["log_prob"] == pytest.approx(float(log_probs[row["token"]]), rel=1e-4, abs=2e-4)
        assert of_step[0] == pytest.approx(float(log_probs.max()), rel=1e-4, abs=2e-4)
        assert np.isneginf(of_step).sum() == (model.config.suppressed_token_id is not None), "what is never generated"
    assert (len(scores) > 0) == (not header["zoom"]["value"])


@pytest.mark.parametrize("name", ["en-fr", "dates", "stories", "induction", "fill-in"])
def test_every_number_is_the_captures(open_app: OpenApp, name: str):
    boxes = blueprint_of(tc.load(ROOT / "checkpoints" / name)[0].config).boxes
    zooms = {re.sub(r"\d+", "", box): box for box, of in boxes.items() if of.kind in ("layer", "attention")}
    for zoom in ("", *zooms.values()):
        app = open_start(open_app, model=name, zoom=zoom)
        header, *_ = sent(app)
        assert header["zoom"]["value"] == zoom and header["level"] == Zoom.of(zoom).level
        assert_captured(app, name)


def sources_in(header: dict[str, Any], step: int) -> list[str]:
    """The labels of the tokens that a step's prediction mostly comes from."""
    of = header["flow"]["sides"][header["generating"]]["sources"][header["rows"][step]]
    return [re.sub(r"\W", "", header["sides"][side]["labels"][place]) for side, place, _ in of]


def test_a_pronoun_comes_from_the_noun_that_it_stands_for_and_from_what_is_said_of_it(open_app: OpenApp):
    """Also of the view that is kept beside the checkpoint; an ablated head brings nothing any more."""
    header, *_ = sent(open_start(open_app))
    step = header["nextLabels"].index(next(label for label in header["nextLabels"] if "il" in label))
    assert sources_in(header, step) == ["it", "tired", "animal"]
    head = Component(kind="head", attention="encoder", layer=0, heads=(2,))
    stack = to_json(InterventionStack(entries=(Ablation(component=head, method="zero"),)))
    assert "tired" not in sources_in(sent(open_start(open_app, stack=stack))[0], step)
    wide, *_ = sent(open_start(open_app, text="The animal didn't cross the street because it was too wide."))
    assert {*sources_in(wide, step)} == {"it", "wide", "street"}


def test_dropout_is_shown_as_a_step_of_its_own_from_the_address(open_app: OpenApp):
    app = open_start(open_app, model="en-fr", zoom="decoder.0", dropout="shown", mask="3")
    _, numbers, _ = sent(app)
    after = {site.removesuffix(" dropout"): values for site, values in numbers.items() if site.endswith("dropout")}
    assert len(after) == 3
    for site, values in after.items():
        np.testing.assert_allclose(values, drop(numbers[site], site=site, rate=0.1, seed=3), rtol=1e-6)
    assert "At inference dropout is the identity" in words_of(app) and "This model’s dropout is" in words_of(app)
    assert url_of(app)["mask"] == "3" and "seed=3" in shown_code(app)
    assert all(f"{site} dropout" in run_lines(shown_code(app))[1] for site in after)
    assert "Seed" not in words_of(app.toggle[0].set_value(False).run())


def test_interventions_act_on_all_that_the_overview_shows(open_app: OpenApp):
    """The view that is kept beside the checkpoint shows the model without them."""
    head = Component(kind="head", attention="encoder", layer=0, heads=(1,))
    stack = to_json(InterventionStack(entries=(Ablation(component=head, method="zero"),)))
    app = open_start(open_app, stack=stack)
    assert_captured(app, "en-fr", {"encoder.blocks.0.self_attn.hook_z": tc.zero_heads([1])})


@pytest.mark.parametrize(
    ("model", "zoom", "given"),
    [
        ("en-fr", "decoder.0.cross_attn.3", {"step": "2", "tokens": "6.11"}),
        ("stories", "decoder.1.self_attn.2", {"step": "3", "tokens": "6.11", "text": "The cat"}),
        ("fill-in", "encoder.1.self_attn.0", {"tokens": "495"}),
    ],
)
def test_a_head_opens_attention_step_by_step_on_the_tokens_of_the_stage(
    open_app: OpenApp, model: str, zoom: str, given: dict[str, str]
):
    """Old links with a head open it, too, with what they say about that page."""
    attention, _, head = zoom.rpartition(".")
    stage_header, *_ = sent(open_start(open_app, model=model, zoom=attention, **given))
    app = open_start(open_app, model=model, zoom=zoom, stage="softmax", **given)
    steps = unpacked(component(app, "steps").bytes)[0]
    assert steps["head"] == int(head) and url_of(app)["stage"] == "softmax"
    assert not [one for one in app.get("bidi_component") if "stage" in one.proto.component_name.split(".")[-1:]]
    if model != "fill-in":
        assert url_of(app)["query"] == str(stage_header["rows"][int(given["step"])])
    labels = stage_header["sides"][stage_header["lanes"][0]["panels"][0]["rows"]]["labels"]
    first = steps["first"]["query"]
    assert steps["query"] == labels[first : first + len(steps["query"])]
    if model == "stories":  # another text has no tokens of the stage
        app = open_app("steps", **url_of(app))
        assert "tokens" in url_of(app)
        app.text_input(key="text-line").set_value("The dog").run()
        assert not app.exception and "tokens" not in url_of(app)


def test_generated_tokens_settings_and_step_come_from_the_address(open_app: OpenApp):
    app = open_start(open_app, tokens="6.11", step="1", temperature="0.7", top_k="5", seed="3")
    header, *_ = sent(app)
    assert header["sides"]["target"]["ids"][:3] == [1, 6, 11]
    greedy = [distribution["rows"][0]["token"] for distribution in header["distributions"]]
    differ = [step for step, token in enumerate(header["sides"]["target"]["ids"][1:]) if token != greedy[step]]
    assert header["lessProbable"] == differ and {0, 1} <= set(differ)  # chosen, and later ones drawn
    assert header["sampling"]["value"] == {"temperature": 0.7, "top_k": 5, "top_p": 1.0, "min_p": 0.0}
    assert url_of(app) == {"tokens": "6.11", "step": "1", "temperature": "0.7", "top_k": "5", "seed": "3"}


def test_it_opens_at_temperature_1_where_il_and_elle_compete_and_says_so(open_app: OpenApp):
    header, _, scores = sent(open_start(open_app))
    assert header["sampling"]["value"]["temperature"] == 1 and header["decoding"]["value"] == "greedy"
    step = header["step"]["value"]
    probabilities = torch.tensor(np.stack(scores)).softmax(dim=-1).numpy()
    entropies = -(probabilities * np.log(np.maximum(probabilities, 1e-30))).sum(axis=-1)
    assert step == header["opening"]["step"] == entropies.argmax() > 0
    first, second = (row["label"] for row in header["distributions"][step]["rows"][:2])
    assert {first, second} == {"il", "elle"}
    expected = f"“{first}” has probability {probabilities[step][0]:.2f}, and “{second}” {probabilities[step][1]:.2f}."
    assert expected in header["opening"]["reason"]


def test_a_masked_model_speaks_of_blanks_and_never_of_a_next_token(open_app: OpenApp):
    app = open_start(open_app, model="fill-in")
    header, *_ = sent(app)
    assert "filled first: here “·ball”" in header["opening"]["reason"] and header["architecture"] == "encoder-only"
    assert "next token" not in words_of(app).lower() and "fills each blank" in words_of(app)


@pytest.mark.parametrize(
    ("settings", "temperature", "drawn"),
    [
        ({"temperature": "2"}, 2, True),  # a link from before there was a choice
        ({"temperature": "2", "decoding": "greedy"}, 2, False),
        ({"decoding": "sampling", "seed": "3"}, 1, True),
        ({"temperature": "0"}, 0, False),
    ],
)
def test_tokens_are_the_most_probable_ones_unless_they_are_drawn(
    open_app: OpenApp, settings: dict[str, str], temperature: float, drawn: bool
):
    app = open_start(open_app, model="stories", **settings)
    header, *_ = sent(app)
    assert header["sampling"]["value"]["temperature"] == temperature
    n_given = len(header["sides"]["target"]["ids"]) - header["nGiven"]
    greedy = [distribution["rows"][0]["token"] for distribution in header["distributions"]][:n_given]
    assert (header["sides"]["target"]["ids"][header["nGiven"] :] != greedy) == drawn
    assert url_of(app) == {"model": "stories"} | settings


def test_blanks_are_filled_as_the_address_says_as_far_as_they_are_read(open_app: OpenApp):
    first, *_ = sent(open_start(open_app, model="fill-in"))
    filled, *_ = sent(open_start(open_app, model="fill-in", tokens="495"))
    assert filled["sides"]["source"]["ids"][first["rows"][0]] == 495 and filled["nFilled"] == 1
    assert filled["rows"] == [] and filled["ended"] == "All blanks are filled."


def test_what_cannot_be_met_is_told_and_the_overview_is_shown(open_app: OpenApp):
    text = "The cat zzxqy sleeps. " * 50
    app = open_start(open_app, zoom="nowhere", tokens="a.b", temperature="9", text=text)
    for words in ("format is a block", "format is token ids", "from 0 to 5", "first 32 tokens", "vocabulary", "zzxqy"):
        assert words in words_of(app)
    assert sent(app)[0]["level"] == "overview"


def test_what_the_model_itself_generates_tells_that_a_text_is_unlike_the_training_data(open_app: OpenApp):
    odd = {"text": "She will not cross it because it is wide."}
    reports = [
        "unlike the training" in words_of(open_start(open_app, **v)) for v in (odd, {}, odd | {"tokens": "6.11"})
    ]
    assert reports == [True, False, False]


def test_tokens_that_are_not_in_the_vocabulary_are_refused_and_one_can_start_over(open_app: OpenApp):
    app = open_app("start", tokens="99999")
    assert not app.exception
    assert "This cannot be shown: " in app.warning[0].value
    next(button for button in app.button if button.label == "Start over").click().run()
    assert not app.warning and sent(app)[0]["level"] == "overview"


@pytest.mark.parametrize(("model", "text"), [("stories", "🙂猫"), ("fill-in", "x" * 3000)])
def test_any_text_is_shown_or_refused_in_a_sentence(open_app: OpenApp, model: str, text: str):
    app = open_app("start", model=model, text=text)
    assert not app.exception and not app.error
    assert app.warning or sent(app)[0]["lanes"]
    app.text_input(key="text-line").set_value("").run()
    assert not app.exception and "Type a text above" in " ".join(info.value for info in app.info)


def test_the_code_runs_and_prints_the_shapes_of_all_panels(open_app: OpenApp):
    app = open_start(open_app, zoom="decoder.1.cross_attn")
    _, printed = run_lines(shown_code(app))
    assert all(panel["site"] in printed for panel in panels_of(sent(app)[0]))


@pytest.mark.parametrize("zoom", ["", "decoder.0.cross_attn"])
def test_links_open_their_pages_in_the_matching_state(open_app: OpenApp, zoom: str):
    app = open_start(open_app, zoom=zoom, tokens="6.11", step="2", text="The dog sees the cat.")
    links = [link.proto for link in app.get("page_link")]
    assert zoom or any(link.page == "tour" for link in links)
    for link in (one for one in links if one.page != "tour"):  # it has its own texts
        name, parameters = link.page, dict(parse_qsl(link.query_string))
        opened = open_app(name, **parameters)
        assert not opened.exception and not opened.warning, name
        assert "The address has" not in words_of(opened), (name, words_of(opened))
        assert opened.text_input(key="text-line").value == "The dog sees the cat."
        kept = url_of(opened)
        for field in pages()[name].fields:
            if field.name in parameters and field.name in kept:
                assert kept[field.name] == parameters[field.name], (name, field.name)
        if name == "decoding" and not zoom:
            assert kept["branches"] == "6.11"


WITHOUT_TORCH = """
import sys

sys.modules["torch"] = None
from streamlit.runtime.context import ContextProxy
from tests.pages.conftest import app_at, component

ContextProxy.cookies = property(lambda self: {})
app = app_at("start", {}).run()
assert not app.exception and not app.warning, (app.exception, app.warning)
assert component(app, "stage").bytes
"""


def test_the_first_view_is_drawn_without_torch():
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


def test_of_a_large_vocabulary_the_highest_logits_are_drawn_and_called_that(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stage, "MOST_COLUMNS", 10)
    values = np.random.default_rng(1).normal(size=(4, 50)).astype(np.float32)
    panel = Panel(name="logits", site="hook_logits", rows="target")
    payload = stage._panel(panel, values)
    assert payload["size"] == [4, 10] and payload["title"] == "Logits (highest 10)"
    drawn = np.frombuffer(stage._numbers(panel, values), dtype="<f4").reshape(4, 10)
    np.testing.assert_array_equal(drawn, values[:, payload["ids"]])
    assert drawn.max(axis=0).min() >= np.delete(values, payload["ids"], axis=1).max()


def test_tokens_are_forgotten_with_another_text_unless_a_link_brought_both(bare: Bare, monkeypatch: pytest.MonkeyPatch):
    config = tc.ModelConfig(vocab_size=9, d_model=8, d_ff=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1)
    view_fields.fit(config, "a text")
    view_fields.TOKENS.set((4, 7))
    with monkeypatch.context() as patch:
        patch.setattr(state, "came_by_link", lambda: True)
        view_fields.fit(config, "another text")
        assert view_fields.TOKENS.value == (4, 7)
    view_fields.fit(config, "a text")
    assert view_fields.TOKENS.value == () and not bare.texts
