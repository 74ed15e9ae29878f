"""The Interventions page: the stack and what is done with it, what it changes, and sweeps."""

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.analysis.interventions.base import read_base
from headlight.analysis.interventions.comparison import Consequences, consequences, free_output
from headlight.analysis.interventions.constants import corpus_mean
from headlight.analysis.interventions.records import (
    Ablation,
    CellEdit,
    Component,
    ComponentKind,
    InterventionStack,
    Patch,
    TokenSwap,
)
from headlight.analysis.interventions.source_runs import SourceRuns
from headlight.analysis.interventions.stacks import from_json, to_json
from headlight.analysis.interventions.sweeping import Sweep, sweep_components
from headlight.figures.quantities import all_rounded
from headlight.programs.checkpoint import save_compiled
from pages.investigate.interventions import stack as stack_view
from pages.investigate.interventions import sweeps, view_fields
from pages.shared.page import pages
from tests.headlight.programs.compiled_examples import example
from tests.pages.conftest import OpenApp, figures_of, shown_code, url_of, values_of, words_of
from transformer_core.corpora import load_corpus
from transformer_core.errors import ConfigError

pytestmark = pytest.mark.usefixtures("three_kinds_here")
HEAD = Component(kind="head", attention="cross", layer=1, heads=(0,))
ZERO = Ablation(component=HEAD, method="zero")
EDIT = CellEdit(attention="encoder", layer=0, heads=(1,), cells=((2, 1),), operation="set", number=0.5)
BOTH = InterventionStack(entries=(ZERO, EDIT))
EVERY = InterventionStack(  # one of each kind, one of them switched off
    entries=(
        *BOTH.entries,
        Patch(
            component=Component(kind="resid_pre", attention="decoder", layer=1, positions=(1,)),
            text="The cat's “one”.",
            direction="noising",
            continuation="same",
            name='it\'s "one"',
        ),
        TokenSwap(side="source", positions=(1,), tokens=(9,), enabled=False),
        Ablation(
            component=Component(kind="feed_forward", attention="encoder", layer=0), method="mean", texts=("The cat.",)
        ),
    )
)
TEXT = "The dog sees the cat."


def opened(open_app: OpenApp, of: InterventionStack | None = None, /, **parameters: str) -> AppTest:
    given = {"stack": to_json(of)} if of else {}
    app = open_app("interventions", **({"model": "en-fr", "text": TEXT} | given | parameters))
    assert not app.exception
    return app


def stack_of(app: AppTest) -> InterventionStack:
    """The stack that the address names."""
    return from_json(url_of(app)["stack"]) if "stack" in url_of(app) else InterventionStack()


def expected(folder: Path, stack: InterventionStack, model: str = "en-fr", text: str = TEXT) -> Consequences:
    loaded, tokenizer = tc.load(folder / model)
    return consequences(loaded, tokenizer, read_base(loaded, tokenizer, text), stack)


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click().run()
    assert not app.exception
    return app


def act(app: AppTest, do: Callable[[], None], sent: object = None) -> AppTest:
    """Have a person do something in the list of the stack, which AppTest cannot drive; `sent` is what it says then."""
    entries = to_json(sent) if isinstance(sent, InterventionStack) else sent
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", app.session_state)
        patch.setattr("pages.investigate.interventions.components.stack_list.sent", lambda key, event: entries)
        do()
    app.run()
    assert not app.exception
    return app


def changes(app: AppTest) -> np.ndarray:
    """The bars of the logit differences; none where nothing acts."""
    results = [figure for name, figure in figures_of(app).items() if name.endswith("-output-tokens")]
    y = results[0]["data"][0]["y"] if results else {"bdata": "", "dtype": "f8"}
    return np.frombuffer(base64.b64decode(y["bdata"]), dtype=y["dtype"])


def table_of(app: AppTest) -> dict[str, list[str]]:
    """The table of the output tokens, by column; empty if there is none."""
    lines = re.findall("<tr>(.*?)</tr>", words_of(app))
    rows = [
        [unescape(cell) for cell in re.findall("<t[hd]>(?:<bdi>)?(.*?)(?:</bdi>)?</t[hd]>", line)] for line in lines
    ]
    return {name: column for name, *column in map(list, zip(*rows, strict=True))}


def test_without_an_active_intervention_a_sentence_is_in_place_of_what_it_would_change(open_app: OpenApp):
    off = InterventionStack(entries=tuple(replace(entry, enabled=False) for entry in BOTH.entries))
    for stack in (None, off):
        for view in ("pattern", "heads", "residual"):
            app = opened(open_app, stack, view=view)
            shown = figures_of(app).keys()
            assert shown == ({"en-fr-interventions-pattern-before"} if view == "pattern" else set()), view
            assert words_of(app).count("No intervention is active") == 1 and "With the stack" not in words_of(app)


def test_what_the_stack_changes_is_what_the_core_computes(
    open_app: OpenApp, three_kinds: Path, capsys: pytest.CaptureFixture[str]
):
    """In each view, and in what its code prints."""
    app, result = opened(open_app, EVERY), expected(three_kinds, EVERY)
    np.testing.assert_allclose(changes(app), result.logit_differences[1] - result.logit_differences[0], atol=1e-5)
    model, tokenizer = tc.load(three_kinds / "en-fr")
    base = read_base(model, tokenizer, TEXT)
    outputs = base.free_output, free_output(model, tokenizer, base, consequences(model, tokenizer, base, EVERY))
    assert all(output.strip() in words_of(app) for output in outputs)
    after = figures_of(app)["en-fr-interventions-pattern"]["data"][-1]
    np.testing.assert_allclose(np.nan_to_num(values_of(after)), result.patterns["cross"][1, 0], atol=1e-5)
    for view, figure, numbers in (
        ("pattern", "en-fr-interventions-pattern", result.patterns["cross"][1, 0]),
        ("heads", "en-fr-head-changes", result.head_changes),
        ("residual", "en-fr-residual-encoder", result.residual_changes),
        ("numbers", "en-fr-output-tokens", result.ranks),
    ):
        app.session_state["interventions-view"] = view
        app.run()
        exec(shown_code(app), {})
        assert figure in figures_of(app) and str(numbers) in (printed := capsys.readouterr().out), view
        assert view != "numbers" or all(output in printed for output in outputs)
    assert table_of(app)["KL (nats)"] == all_rounded(result.effect.kl, 3)


def test_interventions_are_added_switched_off_moved_undone_and_removed(open_app: OpenApp):
    app = opened(open_app)
    assert not changes(app).size and "stack" not in url_of(app)
    app.segmented_control(key="interventions-method-segments").set_value("zero").run()
    app = press(app, "interventions-add-it")
    assert stack_of(app).entries == (ZERO,) and changes(app).any()
    app.session_state["interventions-add"] = "cells"
    app.session_state["attention"], app.session_state["layer"], app.session_state["head"] = "encoder", 0, 1
    app.session_state["interventions-cell"] = (2, 1)
    app.run()
    app.number_input(key="interventions-number-box").set_value(0.5).run()
    app.toggle(key="interventions-renormalize-box").set_value(False).run()
    app = press(app, "interventions-add-it")
    assert stack_of(app) == BOTH
    off = replace(ZERO, enabled=False)
    for entries in ((off, EDIT), (EDIT, off), (off,)):  # switched off, moved, and the other one removed
        app = act(app, stack_view.take, InterventionStack(entries=entries))
        assert stack_of(app).entries == entries
    assert not changes(app).any()
    for do, entries in (
        (view_fields.undo, (EDIT, off)),
        (view_fields.undo, (off, EDIT)),
        (view_fields.redo, (EDIT, off)),
    ):
        app = act(app, do)
        assert stack_of(app).entries == entries
    linked = InterventionStack(entries=(EDIT,))  # a link brings another stack
    app.switch_page(pages()["tour"].script).run()
    app.query_params.clear()
    app.query_params["stack"] = to_json(linked)
    app.switch_page(pages()["interventions"].script).run()
    assert stack_of(app) == linked
    assert stack_of(act(app, view_fields.undo)).entries == (EDIT, off)


def test_the_output_token_that_is_asked_about_is_the_one_that_rises_or_falls_most(open_app: OpenApp, three_kinds: Path):
    for head in range(4):
        stack = InterventionStack(entries=(Ablation(component=replace(HEAD, heads=(head,)), method="zero"),))
        before, after = expected(three_kinds, stack).logit_differences
        most = int(np.abs(after - before).argmax())
        if is_fall := most != int((after - before).argmax()):
            break
    assert is_fall and opened(open_app, stack).selectbox(key="interventions-token-box").value == most


def test_what_is_no_stack_or_does_not_fit_is_refused_in_one_sentence_and_nothing_is_lost(open_app: OpenApp):
    app = opened(open_app, BOTH, cell="x", view="y")
    words = words_of(app).replace("\\", "")
    assert all(f"The address has {name} “{value}" in words for name, value in (("cell", "x"), ("view", "y")))
    for text, is_told in (('[{"kind":"magic"}]', True), ("[]" + " " * 8_000, True), ([], False), (None, False)):
        app = act(app, stack_view.take, text)
        assert stack_of(app) == BOTH
        assert ("intervention" in "".join(one.value for one in app.warning)) == is_told
    app.selectbox(key="model-box").set_value("tales").run()
    assert "With the stack (not applied)" in words_of(app) and stack_of(app) == BOTH and not changes(app).any()
    assert "because of “zero-ablate cross-attention L1.H0”: this model has no cross-attention" in app.warning[0].value
    app = opened(open_app, stack='[{"type":"nothing"}]')
    assert "an intervention is of type" in words_of(app) and not stack_of(app).entries


def test_a_mean_is_taken_over_the_corpus_of_the_model(
    open_app: OpenApp, three_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    corpus = tmp_path / "mine.tsv"
    corpus.write_text("".join(f"The dog sees the cat {n} times.\tLe chien voit le chat.\n" for n in range(60)))
    folder = tmp_path / "checkpoints"
    shutil.copytree(three_kinds / "en-fr", folder / "en-fr")
    card = json.loads((folder / "en-fr" / "card.json").read_text())
    (folder / "en-fr" / "card.json").write_text(json.dumps(card | {"corpus": {"name": str(corpus)}}))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))
    app = opened(open_app)
    app.segmented_control(key="interventions-method-segments").set_value("mean").run()
    app = press(app, "interventions-add-it")
    (entry,) = stack_of(app).entries
    assert isinstance(entry, Ablation)
    model, tokenizer = tc.load(folder / "en-fr")
    texts = [pair.source for pair in load_corpus(str(corpus)).held_out]
    of_corpus = corpus_mean(model, tokenizer, HEAD, texts, corpus="mine.tsv")
    np.testing.assert_allclose(entry.constant, of_corpus.constant, atol=1e-5)


def test_a_token_is_swapped_and_a_word_that_is_none_says_so(open_app: OpenApp, three_kinds: Path):
    app = press(opened(open_app, add="tokens"), "interventions-add-it")
    assert app.warning[0].value.startswith("Type the token") and not stack_of(app).entries
    app.text_input(key="interventions-word-box").set_value("cat dog").run()
    app = press(app, "interventions-add-it")
    assert "has 2 tokens" in app.warning[0].value and not stack_of(app).entries
    app.text_input(key="interventions-word-box").set_value("cat").run()
    app.selectbox(key="interventions-place-box").set_value(1).run()
    app = press(app, "interventions-add-it")
    cat = tc.load(three_kinds / "en-fr")[1].encode("cat")
    assert stack_of(app).entries == (TokenSwap(side="source", positions=(1,), tokens=tuple(cat)),)
    (text,) = [one.proto for one in app.get("bidi_component") if one.proto.component_name.endswith(".stack_list")]
    assert json.loads(text.json)["entries"][0]["sentence"] == "swap input tokens: 1 “dog” → “cat”" and not app.warning


def swept(app: AppTest, site: tuple[ComponentKind, bool] = ("head", True), way: str = "exact") -> AppTest:
    """The page after a sweep over the components of one kind, by position or not."""
    app.selectbox(key="interventions-sites-box").set_value(site).run()
    app.selectbox(key="interventions-sweep-way-box").set_value(way).run()
    app = press(app, "interventions-run-sweep")
    while any(button.key == "interventions-cancel" for button in app.button):
        app.run()
    assert not app.exception
    return app


def test_a_sweep_is_shown_in_nats_and_as_the_fraction_recovered(
    open_app: OpenApp, three_kinds: Path, capsys: pytest.CaptureFixture[str]
):
    """By position and not; its code finds the same, and another text is another question."""
    other = "The cat sees the dog."
    app = opened(open_app, view="sweep", token="1")
    app.text_input(key="interventions-other-line").set_value(other).run()
    model, tokenizer = tc.load(three_kinds / "en-fr")
    base = read_base(model, tokenizer, TEXT)
    metric = base.metric(1)
    for kind, by_position in (("resid_pre", True), ("value", False)):
        app = swept(app, (kind, by_position))  # type: ignore[arg-type]
        components = [*sweep_components(model.config, base, kind, metric, by_position=by_position)]  # type: ignore[arg-type]
        template = Patch(component=components[0], text=other, direction="denoising")
        of_page = Sweep(model, tokenizer, base, template, metric=metric)
        difference = of_page.difference()
        assert difference is not None
        results = [*of_page.exact(components)]
        for unit, scale in (("fraction", difference), ("change", 1.0)):
            app.segmented_control(key="interventions-sweep-unit-segments").set_value(unit).run()
            for name in dict.fromkeys(component.attention for component in components):
                of_name = [one.change / scale for one in results if one.component.attention == name]
                shown = values_of(figures_of(app)[f"en-fr-sweep-{name}"]["data"][0])
                n_columns = len(of_name) // shown.shape[0]  # positions after the metric's are 0
                np.testing.assert_allclose(shown[:, :n_columns].ravel(), of_name, rtol=1e-4, atol=1e-5)
                assert not shown[:, n_columns:].any() and n_columns > 1
        exec(shown_code(app), {})
        printed = dict(eval(capsys.readouterr().out.splitlines()[-2], {"Component": Component}))
        assert printed == pytest.approx({one.component: one.change for one in results}, abs=1e-5)
    for text, site, message in (
        (TEXT, "query", "There is no fraction recovered here"),
        ("The cat sees the dog and the cat.", "pattern", "a pattern can only be patched between texts"),
    ):
        app.text_input(key="interventions-other-line").set_value(text).run()
        assert "en-fr-sweep-encoder" not in figures_of(app)
        app = swept(app, (site, False))  # type: ignore[arg-type]
        assert message in words_of(app) + "".join(warning.value for warning in app.warning)


def test_by_default_a_sweep_asks_about_a_word_and_takes_values_with_counterparts(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(Path(tc.__file__).parents[1] / "checkpoints"))
    app = opened(open_app, model="induction", text="moon basket river owl candle fern moon basket river", view="sweep")
    metric = words_of(app).translate({0x2068: None, 0x2069: None}).partition("Metric: ")[2].partition("<")[0]
    assert "eos" not in metric and "values from “river basket moon fern candle owl river basket moon”" in metric


@pytest.mark.parametrize(("seconds", "is_done"), [(60.0, True), (0.01, False)])
def test_a_sweep_is_done_at_once_or_can_be_cancelled(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, seconds: float, is_done: bool
):
    monkeypatch.setattr(sweeps, "SLICE", seconds)
    app = press(opened(open_app, view="sweep", token="1"), "interventions-run-sweep")
    assert any(button.key == "interventions-cancel" for button in app.button) != is_done
    if not is_done:
        app = press(app, "interventions-cancel")
    shown = values_of(figures_of(app)["en-fr-sweep-encoder"]["data"][-1])
    assert np.isfinite(shown).any() and np.isnan(shown).any() != is_done


def test_files_hold_a_stack_and_what_it_was_made_for_and_strange_ones_say_so(three_kinds: Path):
    en_fr, tales = (str(three_kinds / name) for name in ("en-fr", "tales"))
    same, weights = {"text": "One.", "second_text": "Two."}, Path(en_fr, "model.safetensors").read_bytes()
    saved = stack_view.written(BOTH, en_fr, same)
    assert json.loads(saved)["model"]["sha256"] == hashlib.sha256(weights).hexdigest()
    old = json.dumps({stack_view.FILE: json.loads(to_json(BOTH))}).encode()
    for content, model, texts, named in (
        (saved, en_fr, same, ()),
        (old, tales, same, ()),  # saved before stacks knew what they were made for
        (old[:-1] + b', "model": 3, "text": ["One."]}', tales, same, ()),
        (saved, tales, same, ("“en-fr”",)),
        (saved, en_fr, {"text": "One."}, ("“One. / Two.”",)),
        (saved, tales, {"text": "Three."}, ("“en-fr”", "“One. / Two.”")),
        (saved, en_fr, same | {"target": "Un."}, ("another target",)),
    ):
        stack, made_for = stack_view.read(content)
        sentence = stack_view.elsewhere(made_for, model, texts)
        assert stack == BOTH and bool(sentence) == bool(named)
        assert all(name in sentence.translate({0x2068: None, 0x2069: None}) for name in named)
    strange = {
        "contains no stack of interventions": (b"", b"[]", b"\xff", b"[" * 50_000),
        "is not a stack of interventions, which is a list": (b'{"headlight-interventions": 3}',),
        "has 600,000 bytes, and a saved stack at most 500,000": (b"[" * 600_000,),
    }
    for words, contents in strange.items():
        for content in contents:
            with pytest.raises(ConfigError, match=words):
                stack_view.read(content)


def test_every_token_of_a_program_is_an_output_token(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save_compiled(tmp_path / "reverse", *example("reverse"), title="Reverse", examples=["a b c d e"])
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    last = example("reverse")[0].config.n_encoder_layers - 1
    off = Ablation(component=Component(kind="head", attention="encoder", layer=last, heads=(0,)), method="zero")
    app = opened(open_app, InterventionStack(entries=(off,)), model="reverse", text="a b c d e", view="numbers")
    assert table_of(app)["token"] == [*"edcba"] and np.abs(changes(app)).min() > 1


@pytest.mark.usefixtures("fresh_caches")
def test_another_text_is_run_once_for_all_edits(open_app: OpenApp, three_kinds: Path, monkeypatch: pytest.MonkeyPatch):
    given = list[SourceRuns]()

    @wraps(consequences)
    def noting(*arguments: Any, **more: Any) -> Consequences:
        given.append(arguments[2].sources)
        return consequences(*arguments, **more)

    monkeypatch.setattr("headlight.analysis.interventions.comparison.consequences", noting)
    resampled = InterventionStack(
        entries=(Ablation(component=HEAD, texts=("The cat sees the dog and the cat.",)), EDIT)
    )
    app = opened(open_app, resampled)
    act(app, stack_view.take, InterventionStack(entries=(resampled.entries[0], replace(EDIT, number=0.25))))
    first, second = given
    assert first is second and first.n_bytes > 0
    fresh = expected(three_kinds, stack_of(app))
    np.testing.assert_allclose(changes(app), fresh.logit_differences[1] - fresh.logit_differences[0], atol=1e-5)
