"""No page draws HTML or Markdown itself: all of it passes `prose`, which escapes the values in its templates."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from markupsafe import escape

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    "pages/learn/glossary/page.py": {"prose.markdown"},  # formulas
    "pages/learn/tour/chapter.py": {"prose.markdown"},  # lessons are Markdown
    "pages/learn/tour/question.py": {"prose.markdown"},
    "pages/shared/view/visits.py": {"st.html"},  # a script that sets a cookie: names of pages, on or off
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
    """Whether a text is one of this program: a literal, or a constant, by its name or from a table."""
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
            tags, filled = (tags_of(re.sub(r"\{[^{}]*\}", words, template)) for words in ("", str(HOSTILE)))
            return tags == filled and not any("script" in tag or "on" in (name[:2] for name in tag) for tag in tags)
    return False


def words_in(call: ast.Call, name: str) -> list[ast.expr]:
    """What a call gives Streamlit to read as Markdown."""
    names = {"label", "help", "body", "text"} | ({"format_func"} if name in FREE_OPTIONS else set())
    first = call.args[: name not in ("page_link", "progress")]  # whose first is a page, or a number
    return [*first, *(option.value for option in call.keywords if option.arg in names)]


def unsafe(source: str) -> Iterator[tuple[str, int]]:
    """Yield the calls of a page that could draw words that are not escaped, and their lines."""
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
                "TermLink"
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


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((tag,))


def tags_of(html: str) -> list[tuple[str, ...]]:
    """The tags that a browser finds in HTML, each with the names of its attributes."""
    parser = _Tags()
    parser.feed(html)
    parser.close()
    return parser.tags


def problems(root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each place of a page that could draw words that are not escaped."""
    for path in sorted(root.glob("pages/**/*.py")):
        name = path.relative_to(root).as_posix()
        if name != "pages/shared/prose.py":
            for what, line in dict.fromkeys(unsafe(path.read_text(encoding="utf-8"))):
                if what not in ALLOWED.get(name, ()):
                    yield f"{name}:{line}: {what} may draw words that are not escaped; pages.shared.prose escapes them"
