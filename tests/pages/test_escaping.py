"""No page draws HTML or Markdown itself: all of it passes `prose`, which escapes what stands in its templates."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import escape
from streamlit.testing.v1 import AppTest

PAGES = Path(__file__).resolve().parents[2] / "pages"
ALLOWED = {
    "learn/glossary/page.py": {"prose.markdown"},  # formulas
    "learn/tour/chapter.py": {"prose.markdown"},  # lessons are Markdown
    "learn/tour/question.py": {"prose.markdown"},
    "shared/view/cookies.py": {"st.html"},  # a script that sets a cookie: names of pages, on or off
}
TEMPLATES = {"each", "html", "markup", "say_markup"}  # functions of `prose` whose first argument is HTML
MODULES = {"html", "markupsafe", "streamlit", "pages.shared.prose"}  # one name each, and by that name alone
TEXTS = {"badge", "caption", "error", "header", "html", "info", "markdown", "subheader", "success", "toast", "warning"}
LABELS = {"button", "checkbox", "dialog", "download_button", "expander", "form_submit_button", "link_button", "metric"}
LABELS |= {"page_link", "pills", "popover", "progress", "radio", "segmented_control", "spinner", "status", "tabs"}
LABELS |= {"title", "toggle"}
FREE_OPTIONS = {"pills", "radio", "segmented_control"}  # their options are Markdown, those of a select box are not
NUMBERS = {"n", "n_found", "step", "layer"}
HOSTILE = escape("<i> a='b' c=\"d\" e=f onclick=g ")


def is_own(words: ast.expr) -> bool:
    """Whether an expression is made of this program's own words, or was made text by `prose.plain`."""
    match words:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Name("say"), args=[template], keywords=values):
            return is_marked(template) and all(value.arg in NUMBERS for value in values)
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


def is_marked(words: ast.expr) -> bool:
    """Whether what is said is a text of this program: written there, or a constant, by its name or out of a table."""
    match words:
        case ast.Constant():
            return True
        case ast.Name(name) | ast.Attribute(attr=name) | ast.Subscript(value=ast.Name(name) | ast.Attribute(attr=name)):
            return name.isupper()
        case ast.Subscript(value=ast.Subscript() as table):
            return is_marked(table)
        case ast.IfExp(body=one, orelse=other):
            return is_marked(one) and is_marked(other)
    return False


def is_template(name: str, arguments: list[ast.expr]) -> bool:
    """Whether a call of `prose` takes a literal in which values stand between tags, or in quotes inside of one."""
    match name, arguments:
        case "say_markup", [text, *_]:
            return is_marked(text)
        case _, [ast.Constant(str(template)), *_]:
            tags, filled = (Shown(re.sub(r"\{[^{}]*\}", words, template)).tags for words in ("", str(HOSTILE)))
            return tags == filled and not any("script" in tag or "on" in (name[:2] for name in tag) for tag in tags)
    return False


def words_in(call: ast.Call, name: str) -> list[ast.expr]:
    """What a call gives Streamlit to read as Markdown."""
    names = {"label", "help", "body", "text"} | ({"format_func"} if name in FREE_OPTIONS else set())
    first = call.args[: name not in ("page_link", "progress")]  # whose first is a page, or a number
    return [*first, *(option.value for option in call.keywords if option.arg in names)]


def unsafe(source: str) -> Iterator[tuple[str, int]]:
    """Yield what in a page could draw words that are not escaped, and its line."""
    nodes = [*ast.walk(ast.parse(source))]
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    annotations = [getattr(node, name, None) for node in nodes for name in ("annotation", "returns")]
    typed = [node for annotation in annotations if annotation for node in ast.walk(annotation)]
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for one in names:
                    if one.name in MODULES and (one.name, one.asname) != ("streamlit", "st"):
                        yield one.name, node.lineno
            case ast.ImportFrom(module=module, names=names) if module in MODULES and [one.name for one in names] != [
                "Link"
            ]:
                yield str(module), node.lineno
            case ast.ImportFrom(names=names) if any(one.name == "prose" and one.asname for one in names):
                yield "pages.shared.prose", node.lineno
            case ast.FunctionDef(name="__html__"):
                yield "__html__", node.lineno
            case ast.Attribute(ast.Name("prose"), "Markup") if node not in typed:
                yield "prose.Markup", node.lineno
            case ast.Attribute(ast.Name("prose"), "markdown"):
                yield "prose.markdown", node.lineno
            case ast.Attribute(ast.Name("prose"), name) if name in TEMPLATES and node not in called:
                yield f"prose.{name}", node.lineno
            case ast.Call(ast.Attribute(ast.Name("prose"), name)) if name in TEMPLATES:
                if not is_template(name, node.args):
                    yield f"prose.{name}", node.lineno
            case ast.Attribute(ast.Name("st"), name) if name in TEXTS | {"write"}:
                yield f"st.{name}", node.lineno
            case ast.Call(ast.Attribute(owner, name)) if ast.unparse(owner) not in ("logger", "prose", "st"):
                if name in TEXTS:
                    yield name, node.lineno
        match node:
            case ast.Call(ast.Attribute(_, name)) if name in LABELS and not all(map(is_own, words_in(node, name))):
                yield name, node.lineno


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(PAGES.rglob("*.py")), ids=lambda path: path.relative_to(PAGES).as_posix())
def test_only_prose_draws_words(path: Path):
    name = path.relative_to(PAGES).as_posix()
    if name != "shared/prose.py":
        assert not {(what, line) for what, line in unsafe(path.read_text()) if what not in ALLOWED.get(name, ())}


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
        ("st.html('<p></p>')", True),
        ("st.badge(state)", True),
        ("place.html(f'<p>{words}</p>')", True),
        ("draw = st.html", True),
        ("import html", True),
        ("from streamlit import html", True),
        ("import streamlit", True),
        ("from markupsafe import Markup", True),
        ("prose.Markup(words)", True),
        ("map(prose.Markup, words)", True),
        ("def line() -> prose.Markup | None: ...", False),
        ("class Words:\n    def __html__(self): ...", True),
        ("from pages.shared.prose import markup", True),
        ("from pages.shared.prose import Link", False),
        ("from pages.shared import prose as words", True),
        ("draw = prose.html", True),
        ("prose.markdown(words)", True),
        ("prose.html(template)", True),
        ("prose.html(template=words)", True),
        ("prose.html(f'<p>{words}</p>')", True),
        ("prose.markup('<p>' + words + '</p>')", True),
        ("prose.markup('<p>%s</p>' % words)", True),
        ("prose.each('<p>{}</p>'.format(words), rows)", True),
        ("prose.html('<p class={}></p>', words)", True),
        ("prose.html('<p {}></p>', words)", True),
        ("prose.html('<script>{}</script>', words)", True),
        ("prose.html('<p onclick=\"{}\"></p>', words)", True),
        ("prose.html('<p class=\"{}\">' '{:.2f}</p>', words, number)", False),
        ("prose.say_markup(words)", True),
        ("prose.say_markup(WORDS, name=name)", False),
    ],
)
def test_a_page_that_could_draw_unescaped_words_is_found(source: str, is_open: bool):
    assert bool([*unsafe(source)]) is is_open


class Shown(HTMLParser):
    """What a browser makes of HTML: its tags, each with the names of its attributes, and all the words in it."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.parts: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *(name for name, _ in attrs)))
        self.parts += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((tag,))

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    @property
    def words(self) -> str:
        return " ".join("".join(self.parts).split())


def drawn(words: str) -> list[Shown]:
    """What `prose` draws of some words, wherever it takes words."""

    def script(words: str) -> None:
        from pages.shared import prose

        links = [prose.Link(words, words, words)]
        prose.heading(words, words)
        prose.note(words)
        prose.small(words, links)
        prose.label(words)
        prose.facts([(words, words)], words, links)
        prose.paragraph(words, links)
        prose.look_for(words, links)
        prose.subheading(words, words, links)
        prose.html("<p class='{}' title=\"{}\">{}</p>", words, words, prose.tokens([(words, words)]))
        prose.html("<p>{}{:.1f}</p>", prose.say_markup("<b>{p}</b>", p=words), 0.5)
        prose.html("<p>{}</p>", prose.each("<b>{}</b>", [words, (words,)]) + words)

    app = AppTest.from_function(script, default_timeout=300, args=(words,)).run()
    assert not app.exception
    return [Shown(element.proto.body) for element in app.get("html")]


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.text(st.characters(codec="utf-8"), min_size=1) | st.text("<>&'\"/=! ;#abx`{}0", min_size=1, max_size=30))
def test_any_words_are_shown_as_they_are(words: str):
    for shown, pattern in zip(drawn(words), drawn("§"), strict=True):
        assert shown.tags == pattern.tags
        assert shown.words == " ".join(pattern.words.replace("§", words).split())
