"""Our JavaScript modules as one script, with a language's words and the style sheets that they need.

Each module becomes a function that returns its exports, after those that it imports: our modules import names from
relative paths, at their beginning, and export declarations.
"""

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from headlight.language import messages, plural_forms

ROOM = Path(__file__).parents[1]
_COMPONENTS = ROOM / "components"
_LANGUAGE = _COMPONENTS / "kit" / "language.js"
_STYLES = Path(__file__).with_name("styles.js")
_SHEETS = (
    _COMPONENTS / "kit" / "forced_colors.css",
    _COMPONENTS / "kit" / "tip.css",
    _COMPONENTS / "kit" / "play_buttons.css",
    _COMPONENTS / "overview" / "overview.css",
    _COMPONENTS / "heatmap" / "heatmap.css",
    _COMPONENTS / "lines" / "lines.css",
    Path(__file__).with_name("attention_view.css"),
    Path(__file__).with_name("stepper.css"),
)
_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^\s*//.*\n|^\s*/\*\*(?:[^*]|\*(?!/))*\*/\s*\n", re.MULTILINE)
_INDENTS = re.compile(r"^\s+", re.MULTILINE)


@cache
def page_script(language: str) -> str:
    """Return a script that shows the views of the page that it is on."""
    bodies = _bodies(Path(__file__).with_name("page_host.js"), language)
    return "(() => {\n" + "".join(bodies) + "})();\n"


@cache
def widget_module(language: str) -> str:
    """Return the module of a widget, as anywidget takes it."""
    bodies = _bodies(entry := Path(__file__).with_name("widget_host.js"), language)
    return "".join(bodies) + f"export default {{ render: {_name(entry)}.render }};\n"


def words(language: str, scripts: str) -> str:
    """Return the module of a language: the texts that occur in some scripts, by their English words."""

    def used(texts: Mapping[str, object]) -> str:
        return _literal({text: words for text, words in texts.items() if _literal(text) in scripts})

    return (
        f"export const LANGUAGE = {_literal(language)};\n"
        f"export const WORDS = {used(messages(language))};\n"
        f"export const FORMS = {used(plural_forms(language))};\n"
    )


def _bodies(entry: Path, language: str) -> list[str]:
    """Return the modules that a module needs and itself, each as a declaration, in an order in which they can run."""
    sources: dict[Path, str] = {}

    def add(path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        for _, target in _IMPORT.findall(text):
            if (other := _resolve(path, target)) not in sources:
                add(other)
        sources[path] = text

    add(entry)
    sources[_LANGUAGE] = words(language, "".join(sources.values()))
    sheets = {sheet.name: _INDENTS.sub("", sheet.read_text(encoding="utf-8")) for sheet in _SHEETS}
    sources[_STYLES] = f"export const STYLES = {_literal(sheets)};\n"
    return [_declaration(path, text) for path, text in sources.items()]


def _declaration(path: Path, text: str) -> str:
    def imported(match: re.Match[str]) -> str:
        names = re.sub(r"\s+as\s+", ": ", match[1].strip())
        return f"const {{ {names} }} = {_name(_resolve(path, match[2]))};\n"

    exports = ", ".join(_EXPORT.findall(text))
    body = _IMPORT.sub(imported, _EXPORT.sub("", _COMMENT.sub("", text)))
    body = _INDENTS.sub("", body)
    return f"const {_name(path)} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"


def _resolve(path: Path, target: str) -> Path:
    return Path(os.path.normpath(path.parent / target))


def _name(path: Path) -> str:
    """Return the name of a module within the script."""
    return "_".join(path.relative_to(ROOM).with_suffix("").parts)


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
