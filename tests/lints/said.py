"""Texts on pages and figures that bypass the catalogues: English that stands where a person reads it, without `say`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_SHOWN = {
    "pages/shared/downloads.py",  # a server's answer to a link that leads nowhere
    "pages/shared/view/visits.py",  # a script
}
SAY = {"mark", "Message", "plain", "say", "say_markup", "say_message", "say_number"}
DRAWN_BY = {"badge", "caption", "error", "heading", "info", "label", "look_for", "note", "paragraph", "small"}
DRAWN_BY |= {"subheading", "success", "text", "toast", "warning", "button", "download_button", "expander", "metric"}
DRAWN_BY |= {"form_submit_button", "link_button", "popover", "progress", "spinner", "tabs", "dialog", "live_figure"}
DRAWN_BY |= {"multiselect", "number", "number_input", "segmented", "segmented_control", "select_slider", "selectbox"}
DRAWN_BY |= {"slider", "text_area", "text_input", "toggle", "file_uploader", "TextColumn", "NumberColumn"}
DRAWN_BY |= {"each", "html", "markup"}
READ = {"about", "help", "label", "placeholder", "text", "title", "x_title", "y_title"}  # options that are read
NO_TEXT = re.compile(  # code, tags but for their tips, names of characters, places of values, icons, axes
    r"<code>.*?</code>|<[^>]*?(?:(?:title|aria-label|alt)='([^']*)'[^>]*)?>|&\w+;|\{[^{}]*\}|:material/\w+:|\[[^\]]*\]"
)
WORD = re.compile(r"(?<![\w#:])(?!Headlight\b|openai\b|community\b)[A-Za-z]{2,}(?!\w)")
SENTENCE = re.compile(r"[A-Z][a-z’']*,?(?: [A-Za-z’'(][A-Za-z’'-]*[,:;)]?){3,}")


def words_in(node: ast.expr) -> str:
    """The English words of an expression that is not said: of a literal, or of one of its parts."""
    match node:
        case ast.Constant(value=str(text)):
            return text if WORD.search(NO_TEXT.sub(r" \1 ", text)) else ""
        case ast.JoinedStr(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return next(filter(None, map(words_in, parts)), "")
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            return words_in(one) or words_in(other)
        case ast.Name(name) | ast.Attribute(attr=name) | ast.Subscript(value=ast.Name(name) | ast.Attribute(attr=name)):
            return name if name.isupper() else ""  # marked where it is written, and never said
    return ""


def unsaid(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of what is read as it is written in the code."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Raise() | ast.Assert() | ast.Expr(value=ast.Constant()):
                continue
            case ast.Call(func=ast.Attribute(value=ast.Name("logger"))):
                continue
            case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)) if name in SAY or name.endswith("Error"):
                continue
            case ast.Constant(value=str(text)) if SENTENCE.match(text) and " et al" not in text:
                yield node.lineno, text
            case ast.Call(func=function, args=arguments, keywords=options):
                read = [option.value for option in options if option.arg in READ]
                if isinstance(function, ast.Attribute):
                    read += arguments[: function.attr in DRAWN_BY]
                yield from ((node.lineno, words) for one in read if (words := words_in(one)))
        waiting += ast.iter_child_nodes(node)


def problems(root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each text of a page or a figure that no catalogue can translate."""
    for path in sorted([*root.glob("pages/**/*.py"), *root.glob("headlight/figures/**/*.py")]):
        if (name := path.relative_to(root).as_posix()) not in NOT_SHOWN:
            for line, text in dict.fromkeys(unsaid(path.read_text(encoding="utf-8"))):
                yield f"{name}:{line}: “{text[:60]}” is shown untranslated; say() it, or mark() it where it is written"
