"""The Programs page: programs, their lines and inputs, mistakes, own programs, and models that are saved."""

import json
from contextlib import suppress
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import headlight as hl
from headlight.programs.checkpoint import load_compiled
from headlight.programs.interpreter import trace
from headlight.programs.mutations import mutations
from pages.learn.programs import view_fields
from pages.learn.programs.view_fields import EXAMPLES
from tests.pages.conftest import OpenApp, component, shown_code, url_of, values_of, words_of
from tests.pages.learn.bare import Bare, run_lines
from tests.pages.learn.experiment_pages import figures
from transformer_core.errors import ProgramError

pytestmark = pytest.mark.usefixtures("three_kinds_here")
TWO_BACK = "previous = aggregate(select(indices, indices, lambda key, query: key == query - 2), tokens)"


def opened(open_app: OpenApp, **parameters: str) -> AppTest:
    app = open_app("programs", **parameters)
    assert not app.exception
    return app


def table(app: AppTest) -> dict[str, Any]:
    """Return the payload of the table of lines."""
    return dict(json.loads(component(app, "listing").json))


def pictures(app: AppTest) -> dict[str, np.ndarray]:
    """The numbers of all heat maps, by the titles of their figures."""
    drawn = [json.loads(payload["figure"]) for payload in figures(app)]
    maps = [[one for one in figure["data"] if one["type"] == "heatmap"][-1] for figure in drawn]  # not the mask's
    titles = [figure["layout"]["title"]["text"] for figure in drawn]
    return {title: np.nan_to_num(values_of(one)) for title, one in zip(titles, maps, strict=True)}


def outputs(app: AppTest) -> dict[str, list[str]]:
    return {row["name"]: row["values"] for row in table(app)["outputs"]}


def test_an_example_is_drawn_with_its_lines_heads_and_output(open_app: OpenApp):
    app = opened(open_app, program="induction", line="1", input="a b a")
    program, tokens = hl.programs.EXAMPLES["induction"], ["a", "b", "a"]
    assert outputs(app) == {"output of program and model": [str(one) for one in hl.programs.run(program, tokens)]}
    rows = table(app)["rows"]
    assert [row["number"] for row in rows] == [*program.lines] and table(app)["tokens"] == tokens
    assert not app.warning and EXAMPLES["induction"].about in words_of(app)
    actual = pictures(app)
    np.testing.assert_allclose(actual["L0.H0 as written"], np.eye(4, k=-1) + np.diag([1, 0, 0, 0]), atol=1e-5)
    assert "Attends to the previous token" in " ".join(one.value for one in app.markdown)
    app.session_state["programs-line"] = 2
    app.run()
    assert "L1.H0 as written" in pictures(app) and url_of(app).get("line") is None  # the last one is usual


def test_a_mistake_changes_pattern_and_output_beside_those_as_written(open_app: OpenApp):
    app = opened(open_app, program="induction", line="1")
    app.selectbox(key="programs-mistake-offered").set_value(TWO_BACK).run()
    assert not app.exception and url_of(app)["mistake"] == TWO_BACK
    actual = pictures(app)
    assert actual["L0.H0 as written"][5].argmax() == 4 and actual["L0.H0 with the mistake"][5].argmax() == 3
    changed = hl.programs.Program(source=hl.programs.EXAMPLES["induction"].source.replace("- 1", "- 2"), is_causal=True)
    tokens = EXAMPLES["induction"].inputs[0].split()
    assert outputs(app)["output of program and model"] == hl.programs.run(changed, tokens)
    assert outputs(app)["output without the mistake"] == hl.programs.run(hl.programs.EXAMPLES["induction"], tokens)
    assert [row["isMistaken"] for row in table(app)["rows"]] == [True, False]


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_mistake_that_is_offered_changes_something_on_the_first_input(name: str):
    """It changes a value or the keys of a line; the others, which compute the same, are those not offered."""
    program, tokens = hl.programs.EXAMPLES[name], EXAMPLES[name].inputs[0].split()
    usual, same = sorted(map(repr, trace(program, tokens).values())), []
    for number, line in program.lines.items():
        for mistake in mutations(line):
            lines = program.source.splitlines()
            lines[number - 1] = mistake
            with suppress(ProgramError):
                if sorted(map(repr, trace(replace(program, source="\n".join(lines)), tokens).values())) == usual:
                    same.append(mistake)
    assert same == [*EXAMPLES[name].equivalents]


def test_a_mistake_that_changes_nothing_on_the_input_is_called_so(open_app: OpenApp):
    line = hl.programs.EXAMPLES["reverse"].lines[3].replace("indices, opposite", "opposite, indices")
    app = opened(open_app, program="reverse", mistake=line)
    assert "this mistake changes nothing" in words_of(app)
    line = hl.programs.EXAMPLES["reverse"].lines[1].replace("True", "False")
    app = opened(open_app, program="reverse", line="1", mistake=line, attends="earlier")
    assert "this mistake changes nothing" not in words_of(app)
    assert EXAMPLES["reverse"].about not in words_of(app), "it is written for all tokens"
    texts = [one.value for one in app.markdown]
    assert any(text.startswith("As written: Attends to ") for text in texts)
    assert "With the mistake: No key is selected, so it attends to" in " ".join(texts)


def test_values_and_outputs_that_are_not_defined_are_named(open_app: OpenApp):
    words = words_of(opened(open_app, source="y = map(lambda i: 1 // i, indices)"))
    assert "Line 1: lambda i: 1 // i is not defined for 0, so its value is None." in words
    app = opened(open_app, source="n = selector_width(select(tokens, indices, lambda key, query: key < query))")
    words = unescape(words_of(app))
    assert "Line 1: lambda key, query: key < query is not defined for 'a', 0, so this key is not selected." in words
    mistake = 'shifted = aggregate(select(indices, indices, lambda key, query: key <= query), tokens, "_")'
    app = opened(open_app, program="shift", mistake=mistake)
    assert "The program has no output for this input: line 1: keys with different values" in words_of(app)
    assert len(outputs(app)["output of the model"]) == 5 and outputs(app)["output of the program"] == []


def test_an_emptied_program_says_that_it_is_empty_and_the_example_can_be_restored(open_app: OpenApp):
    app = opened(open_app, program="shift")
    app.text_area(key="programs-source-box").set_value(" ").run()
    assert app.warning[0].value == "The program is empty; write at least one line."
    next(button for button in app.button if button.label == "Restore the example").click().run()
    assert not app.warning and {*url_of(app)} == {"program"}


def test_an_own_program_over_an_own_vocabulary(open_app: OpenApp):
    seen = "seen = selector_width(select(tokens, tokens, lambda key, query: key == query))"
    source = f"{seen}\n\n# so often\nodd = map(lambda n: n % 2, seen)"
    app = opened(open_app, source=source, vocabulary="ja nein", attends="earlier", input="ja nein ja ja")
    assert outputs(app) == {"output of program and model": ["1", "1", "0", "1"]}
    assert [row["number"] for row in table(app)["rows"]] == [1, 4]
    app.text_area(key="programs-source-box").set_value("x = map(lambda t: t, tokens").run()
    assert "is not a Python expression" in app.warning[0].value and not app.get("bidi_component")
    app.selectbox(key="programs-program-box").set_value("sort").run()
    assert {*url_of(app)} == {"program"} and not app.warning


WRONG = "previous = select(tokens, tokens, lambda key, query: key.__class__)"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ({"input": "a b x"}, "add it: Edit the program → Vocabulary"),
        ({"input": " ".join("abcde" * 6)}, "The input has 30 tokens; this model reads 24 at most"),
        ({"vocabulary": "A b", "input": "b"}, "“A” cannot be a token"),
        ({"source": "x = select(tokens, tokens, lambda key, query: True)"}, "must compute a sequence"),
        ({"program": "nothing", "line": "99"}, "The address has program “nothing”"),
        ({"program": "induction", "line": "1", "mistake": WRONG}, "cannot be used in a function"),
        ({"program": "induction", "line": "2", "mistake": "# nothing"}, "A comment computes nothing"),
    ],
)
def test_what_cannot_be_is_one_calm_sentence(open_app: OpenApp, address: dict[str, str], words: str):
    app = opened(open_app, **address)
    text = " ".join([*(one.value for one in (*app.warning, *app.info)), words_of(app)])
    assert words.lower() in text.replace("\\", "").lower()
    if "mistake" in address:
        assert "output of program and model" in outputs(app), "the program stays as it is written"


def test_the_code_prints_what_is_shown(open_app: OpenApp):
    app = opened(open_app, program="reverse", input="a b")
    _, printed = run_lines(shown_code(app))
    assert printed.count("('b', 'a')") == 2 and "[" in printed


@pytest.fixture
def models_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, three_kinds: Path) -> Path:
    """A folder that models can be saved in."""
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "en-fr").symlink_to(three_kinds / "en-fr")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))
    return folder


def save(app: AppTest, name: str) -> AppTest:
    app.text_input(key="programs-name").set_value(name)
    next(button for button in app.button if button.label == "Save as model").click().run()
    assert not app.exception and f"Saved as “{name}”" in words_of(app)
    return app


@pytest.mark.parametrize("vocabulary", ["ja nein", "ja"])
def test_a_saved_model_has_different_inputs_as_its_examples(open_app: OpenApp, models_folder: Path, vocabulary: str):
    source = "x = map(lambda t: t, tokens)"
    save(opened(open_app, source=source, vocabulary=vocabulary, input=vocabulary), "saved")
    examples = json.loads((models_folder / "saved" / "card.json").read_text())["examples"]
    assert examples[0] == vocabulary and len({*examples}) == len(examples) >= len(vocabulary.split())
    _, tokenizer = load_compiled(models_folder / "saved")
    assert not any(tokenizer.unknown_words(example) for example in examples)


def test_what_is_shown_is_saved_with_its_mistake(open_app: OpenApp, models_folder: Path):
    app = save(opened(open_app, program="induction", line="1", mistake=TWO_BACK), "wrong")
    app.text_input(key="programs-mistake-typed").set_value("nothing").run()  # cannot be read: the program is shown
    save(app, "right")
    for name, offset in (("wrong", 2), ("right", 1)):
        assert hl.programs.roles(load_compiled(models_folder / name)[0])[0, 0].offset == offset


def test_another_line_or_program_has_no_mistake(bare: Bare):
    view_fields.INPUT.set("a b")
    for act, line in ((lambda: view_fields.choose_line(2), 2), (lambda: view_fields.write_program("x = tokens\n"), 0)):
        view_fields.LINE.set(1)
        view_fields.MISTAKE.set("nothing")
        act()
        assert (view_fields.LINE.value, view_fields.MISTAKE.value, view_fields.INPUT.value) == (line, "", "a b")
    view_fields.choose_program("sort")
    assert view_fields.SOURCE.value == view_fields.INPUT.value == "" and not bare.texts


def test_an_input_that_is_too_long_stays_as_it_was_typed(open_app: OpenApp):
    typed = " ".join("abcde" * 6)
    app = opened(open_app)
    app.text_input(key="programs-input-box").set_value(typed).run()
    assert "The input has 30 tokens; this model reads 24 at most" in app.warning[0].value
    assert app.text_input(key="programs-input-box").value == typed and url_of(app)["input"] == typed
