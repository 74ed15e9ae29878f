"""Foreign words on a page stay text: Streamlit reads Markdown in boxes, labels and tips, so they all pass `prose`."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.prose import plain
from tests.pages.conftest import save_model
from tests.pages.train.film_page import OpenApp
from transformer_core.training.run.launch import Launcher

HOSTILE = "x [open your results](https://evil.example/a) :red[**now**]"
PAGES = Path(__file__).resolve().parents[2] / "pages"
TEXTS = {"caption", "error", "header", "info", "markdown", "subheader", "success", "toast", "warning"}
LABELS = {
    "badge",
    "button",
    "checkbox",
    "dialog",
    "download_button",
    "expander",
    "form_submit_button",
    "link_button",
    "metric",
}
LABELS |= {
    "page_link",
    "pills",
    "popover",
    "progress",
    "radio",
    "segmented_control",
    "spinner",
    "status",
    "tabs",
    "title",
    "toggle",
}
FREE_OPTIONS = {"pills", "radio", "segmented_control"}  # their options are Markdown, those of a select box are not
SILENT = {
    "train/film/page.py",
    "learn/tour/page.py",
}  # without a training there is nothing to say; lessons have no such name
NUMBERS = {"n", "n_found", "step", "layer"}


def is_own(words: ast.expr) -> bool:
    """Whether an expression is made of this program's own words, or was made text by `prose.plain`."""
    match words:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Name("say"), args=[template], keywords=values):
            return is_template(template) and all(value.arg in NUMBERS for value in values)
        case ast.Call(func=ast.Attribute(ast.Name("prose"), "plain")):
            return True
        case ast.Call(func=ast.Name("say_number"), args=[_, ast.Constant(), ast.Constant()], keywords=[]):
            return True
        case ast.Attribute(value=ast.Dict(values=values), attr="__getitem__"):
            return all(map(is_own, values))
        case ast.IfExp(body=one, orelse=other):
            return is_own(one) and is_own(other)
        case ast.JoinedStr(values=values):
            return all(is_own(value.value if isinstance(value, ast.FormattedValue) else value) for value in values)
        case ast.List(elts=several):
            return all(map(is_own, several))
        case ast.Lambda(body=one):
            return is_own(one)
    return False


def is_template(words: ast.expr) -> bool:
    """Whether what is said is a text of this program: written there, or a constant, by its name or out of a table."""
    match words:
        case ast.Constant():
            return True
        case ast.Name(name) | ast.Attribute(attr=name) | ast.Subscript(value=ast.Name(name) | ast.Attribute(attr=name)):
            return name.isupper()
        case ast.Subscript(value=ast.Subscript() as table):
            return is_template(table)
        case ast.IfExp(body=one, orelse=other):
            return is_template(one) and is_template(other)
    return False


def words_in(call: ast.Call, name: str) -> list[ast.expr]:
    """What a call gives Streamlit to read as Markdown."""
    names = {"label", "help", "body", "text"} | ({"format_func"} if name in FREE_OPTIONS else set())
    first = call.args[: name not in ("page_link", "progress")]  # whose first is a page, or a number
    return [*first, *(option.value for option in call.keywords if option.arg in names)]


def unescaped(source: str) -> list[int]:
    """The lines of a page at which foreign words could be read as Markdown."""
    lines = []
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        if not isinstance(call.func, ast.Attribute):
            continue
        name, owner = call.func.attr, ast.unparse(call.func.value)
        if owner in ("logger", "prose"):
            continue
        is_text = name in TEXTS or (name == "write" and owner == "st")
        if is_text or (name in LABELS and not all(map(is_own, words_in(call, name)))):
            lines.append(call.lineno)
    return lines


@pytest.mark.parametrize("path", sorted(PAGES.rglob("*.py")), ids=lambda path: path.relative_to(PAGES).as_posix())
def test_only_prose_writes_markdown(path: Path):
    if path.name != "prose.py":
        assert not unescaped(path.read_text())


@pytest.mark.parametrize(
    ("source", "is_open"),
    [
        ("st.warning(say('It failed.'))", True),
        ("remarks.info(words)", True),
        ("st.write(f'{name}')", True),
        ("st.button(example)", True),
        ("st.expander(say('Of {name}', name=name))", True),
        ("st.button(say('Open'), help=found.title)", True),
        ("st.pills(say('Which?'), names, format_func=lambda name: labels[name])", True),
        ("st.button(say(typed))", True),
        ("st.button(say(LABELS[typed]))", False),
        ("st.progress(0.5, text=say('Of {name}', name=name))", True),
        ("st.progress(0.5, text=say('Wait'))", False),
        ("st.pills(say('Which?'), names, format_func=lambda name: prose.plain(labels[name]))", False),
        ("st.expander(f'**{prose.plain(name)}**')", False),
        ("st.button(say('{n} more', n=n))", False),
        ("prose.warning(say('It failed: {error}.', error=error))", False),
    ],
)
def test_a_page_that_lets_foreign_words_be_markdown_is_found(source: str, is_open: bool):
    assert bool(unescaped(source)) is is_open


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (HOSTILE, "x \\[open your results\\](https:\u2060//evil.example/a) :\u2060red\\[\\*\\*now\\*\\*\\]"),
        ("d_model (64) on 'cuda:7' is 0.5", "d_model (64) on 'cuda:7' is 0.5"),
        ("_a_ __b__", "\\_a\\_ \\_\\_b\\_\\_"),
        ("$x$ `y` <b> &amp; ~z~ \\*", "\\$x\\$ \\`y\\` \\<b> \\&amp; \\~z\\~ \\\\\\*"),
        ("www.evil.example me@evil.example :smile:", "www\u2060.evil.example me\u2060@evil.example :\u2060smile:"),
        ("# a\n\n- b", "\u2060# a - b"),
        ("1. a", "\u20601. a"),
        ("-0.5", "-0.5"),
    ],
)
def test_plain_words_have_no_marks_that_act(words: str, expected: str):
    assert plain(words) == expected


def markdown_of(app: AppTest) -> Iterator[str]:
    """Everything that a page gave to Streamlit's Markdown: texts, boxes, labels, tips, and options."""

    def walk(node: Any) -> Iterator[Any]:
        for child in getattr(node, "children", {}).values():
            yield child
            yield from walk(child)

    for node in walk(app._tree):
        proto = getattr(node, "proto", None)
        if proto is None or node.type in (
            "html",
            "code",
            "json",
            "bidi_component",
            "text_input",
            "text_area",
            "selectbox",
        ):
            continue
        for part in (proto, *(value for _, value in proto.ListFields() if hasattr(value, "ListFields"))):
            yield from (value for field, value in part.ListFields() if isinstance(value, str) and field.name != "id")


@pytest.fixture
def hostile_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One model, whose title and examples are hostile; there is no training."""
    titled = {"title": HOSTILE, "examples": (HOSTILE, "The cat.", HOSTILE)}
    save_model(tmp_path / "models" / "en-fr", n_layers=1, n_heads=2, **titled)  # type: ignore[arg-type]
    (tmp_path / "models" / "broken [a](https:)").mkdir()
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "models"))
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)


@pytest.mark.parametrize(
    ("page", "parameters"),
    [
        ("train/train/page.py", {"run": HOSTILE}),
        ("models/models/page.py", {"model": HOSTILE}),
        ("explore/heads/page.py", {"model": HOSTILE, "layer": HOSTILE, "head": HOSTILE, "attention": HOSTILE}),
        ("explore/heads/page.py", {"text": HOSTILE, "heads": HOSTILE, "mix": HOSTILE, "device": HOSTILE}),
        ("explore/decoding/page.py", {"text": HOSTILE, "target": HOSTILE}),
        ("explore/compare/page.py", {"text": HOSTILE, "b-model": HOSTILE, "b-text": HOSTILE}),
        ("train/film/page.py", {"run": HOSTILE}),
        ("learn/steps/page.py", {"text": HOSTILE, "model": HOSTILE}),
        ("learn/masks/page.py", {"text": HOSTILE, "model": HOSTILE}),
        ("learn/positions/page.py", {"text": HOSTILE, "model": HOSTILE}),
        ("learn/architecture/page.py", {"text": HOSTILE, "model": HOSTILE}),
        ("learn/tour/page.py", {"lesson": HOSTILE}),
    ],
)
def test_hostile_words_are_text_on_every_page(
    hostile_names: None, open_app: OpenApp, page: str, parameters: dict[str, str]
):
    app = open_app().switch_page(page)
    for name, value in parameters.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    written = [*markdown_of(app)]
    hostile = [words for words in written if "evil.example" in words]
    assert hostile or page in SILENT
    assert not [words for words in hostile if "[open your results]" in words or "https://" in words]


def test_no_page_starts_a_process_itself():
    """Only the launcher of the core does."""
    for path in PAGES.rglob("*.py"):
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
        assert not {name for name in imported if name.partition(".")[0] == "subprocess"}, path
