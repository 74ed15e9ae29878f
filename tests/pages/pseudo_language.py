"""A language that has a number for each text; all that a page sent to be read; and what of that was never said."""

import json
import re
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from gettext import NullTranslations
from typing import Any

from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
from streamlit.testing.v1 import AppTest

from pages.learn.tour.lesson_engine.six_words import WORDS
from tests.pages.conftest import EXAMPLES, GAPS, PROMPTS, TARGETS

PLACES = re.compile(r"(\{[^{}]*\}|<[^>]+>|[“”])")  # of values, tags, and quotation marks
NO_TEXT = {  # fields of Streamlit's elements that are for the browser, or hold what was typed
    *("id", "key", "url", "icon", "type", "name", "page", "autocomplete", "direction", "justify", "align", "shortcut"),
    *("formId", "deferredFileId", "pageScriptHash", "queryString", "widthConfig", "heightConfig", "gapConfig"),
    *("labelVisibility", "value", "default"),
}
DATA = {"setting", "value", "token"}  # columns of tables that hold names of fields and what they are set to, or tokens
TO_COMPONENTS: Mapping[str, set[str]] = {  # fields of what is sent to our own that nobody reads
    "branches": {"kind", "scales"},
    "browser_storage": {"store", "parts"},
    "candidates": {"version"},
    "chapter": {"data", "name"},
    "dials": {"hues"},
    "drawing": {"name", "kind", "hue", "start", "end", "flow", "chosen", "texts"},
    "figure": {"name", "link", "offers", "templates", "attention"},
    "film": {"attention", "id"},
    "lines": {"hues", "colors"},
    "mask_gallery": {"name", "chosen", "colors"},
    "mask_matrix": {"of", "colors", "hues"},
    "mask_which": {"name", "chosen", "colors", "hues"},
    "overview": {"version", "attention", "shades", "id"},
    "steps": {"name", "stage", "cell", "matrices", "hue", "rows", "columns", "size", "colors"},
    "steps_number": {"hue", "torchName"},
    "writing": {"kinds", "shades", "hue"},
}
IN_FIGURES = re.compile(r"\.(?:text|hovertext|hovertemplate|ticktext|customdata|labels|legend|[xy])$")  # what is shown
NOT_SAID = re.compile(  # styles, code, what people and models wrote; shapes, expressions, places of values, addresses
    r"(?<=\])\([^)\s]*\)|"
    r"<style>.*?</style>|<code>.*?</code>|<img[^>]*>|<bdi>.*?</bdi>|<(?:div|span) class='hl-answer' dir='auto'>[^<]*"
    r"|<div class='hl-arch-axes'>.*?</div>|\w+ \d+(?: × \w+ \d+)+|\b[a-z_]+\[[^\]¤]*\]|\{[^{}]*\}|:material/\w+:",
    re.DOTALL,
)
IN_CODE = re.compile(r"[\w\\]*_[\w\\.]*|\w+(?:[./]\w+)+|[A-Za-z]*[a-z][A-Z]\w*")  # names: `d_model`, `torch.nn`, `ReLU`
MEANT = {  # names and units, which are the same in all languages
    *(
        "headlight",
        "english",
        "deutsch",
        "englisch",
        "französisch",
        "gaps",
        "tales",
        "float",
        "bfloat",
        "cpu",
        "nats",
        "kib",
        "mib",
    ),
    *(
        "bos",
        "eos",
        "unk",
        "encoder",
        "decoder",
        "cross",
        "logits",
        "openai",
        "community",
        "gpt",
        "mlp",
        "copy",
        "sin",
        "cos",
        "vaswani",
    ),
}
IN_FORMULAS = {  # tags of MathML, and what stands upright
    *("mrow", "msub", "msup", "mfrac", "msqrt", "msubsup", "mtext", "concat", "norm", "attention", "max", "model"),
    *("mask", "pad", "self", "segment", "tanh"),
}
READ = " ".join((*EXAMPLES, *GAPS, *PROMPTS, *TARGETS, *WORDS)).lower()  # tokens are parts of it


class Numbers(NullTranslations):
    """The language; the places of values stay."""

    def gettext(self, message: str) -> str:
        parts = PLACES.split(message)
        return "".join(part if PLACES.fullmatch(part) else self._said(part) for part in parts)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)

    @staticmethod
    def _said(part: str) -> str:
        if not re.search("[A-Za-z]", part):
            return part
        return re.sub(r"\S(?:.*\S)?", lambda words: f"¤{zlib.crc32(words[0].encode())}", part, flags=re.DOTALL)


def left_over(field: str, text: str, names: Collection[str] = ()) -> list[str]:
    """Return the words of a text that are neither said nor data: tokens in quotation marks, names, units.

    Args:
        field: where the text stands.
        text: with the tags that it has.
        names: further words that are the same in all languages.
    """
    bare = re.sub(r"title='([^']*)'|<[^>]+>", r" \1 ", NOT_SAID.sub(" ", text))
    bare = re.sub(r":\w+(?:-\w+)?\[|&\w+;|¤\d+|“[^”]*”|'[^']*'", " ", bare)
    words = (word for word in re.findall(r"[A-Za-zÀ-ÿ]{3,}", IN_CODE.sub(" ", bare)) if not word.isupper())
    known = {*MEANT, *names, *(IN_FORMULAS if field.endswith((".formula", ".constants")) else ())}
    return [word for word in words if word.lower() not in known and word.lower() not in READ]


def texts_of(app: AppTest) -> Iterator[tuple[str, str]]:
    """Yield all that the page sent to be read, with the names of their fields."""
    for node in _nodes(app._tree):
        kind = getattr(node, "type", "")
        proto: Any = getattr(node, "proto", None)
        if kind in ("code", "json") or not hasattr(proto, "DESCRIPTOR"):
            continue
        if kind == "bidi_component":
            yield from _to_component(proto)
        elif kind == "dataframe":
            yield from _in_table(node.value, json.loads(proto.columns or "{}"))
        else:
            yield from _texts(kind, MessageToDict(proto), NO_TEXT)


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", {}).values():
        yield from _nodes(child)


def _to_component(proto: Any) -> Iterator[tuple[str, str]]:
    """Yield what is sent to one of our components: as JSON, or as packing.py packs it."""
    name = proto.component_name.split(".")[1]
    header = proto.json
    if not header and proto.bytes:
        (length,) = struct.unpack("<I", proto.bytes[:4])
        header = proto.bytes[4 : 4 + length]
    data = json.loads(header) if header else {}
    if name == "figure":
        preview = data.get("preview") or {}
        for figure in (json.loads(data.pop("figure")), *preview.pop("frames", {}).values()):
            yield from _in_figure(figure)
    yield from _texts(name, data if isinstance(data, dict) else {"data": data}, TO_COMPONENTS.get(name, set()))


def _in_figure(figure: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what plotly shows of a figure; the names of traces where they are in its legend."""
    layout = figure["layout"]
    for trace in figure.get("data", ()):
        name = trace.pop("name", "")
        is_named = trace["type"] != "heatmap" and trace.get("showlegend", layout.get("showlegend", True))
        trace["legend"] = name if is_named else ""
    found = _texts("figure", figure, {"template"})
    yield from ((field, text) for field, text in found if IN_FIGURES.search(field))


def _in_table(table: Any, columns: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names of a table's columns, and its cells but for data."""
    for name, cells in table.items():
        yield "dataframe.label", str((columns.get(str(name)) or {}).get("label", name))
        if name not in DATA and "¤" not in str(name):  # columns whose names were said themselves hold samples
            yield from ((f"dataframe.{name}", cell) for cell in cells if isinstance(cell, str))


def _texts(field: str, value: Any, no_text: set[str]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in no_text:
                yield from _texts(f"{field}.{name}", inner, no_text)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(field, inner, no_text)
    elif isinstance(value, str):
        yield field, value
