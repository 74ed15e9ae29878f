"""No text slips past the catalogues: in a language of numbers, no English word is left on a page but data."""

import json
import re
import struct
import zlib
from collections.abc import Iterator
from functools import cache
from gettext import NullTranslations
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
from streamlit.testing.v1 import AppTest

from pages.shared import tongue
from tests.pages.conftest import EXAMPLES, FRAME, GAPS, PROMPTS, TARGETS
from transformer_core import language

pytestmark = [pytest.mark.usefixtures("three_kinds_here"), pytest.mark.slow]
PLACES = re.compile(r"(\{[^{}]*\}|<[^>]+>)")  # of values, and tags
OF_FIGURES = ("text", "ticktext", "customdata", "hovertemplate")  # what plotly shows of a figure
NO_WORDS = {  # fields of elements and components that are no text for people
    *("id", "key", "url", "icon", "type", "name", "link", "page", "autocomplete", "direction", "justify", "align"),
    *("formId", "deferredFileId", "pageScriptHash", "widthConfig", "heightConfig", "gapConfig", "templates", "scales"),
    *("shades", "kinds", "attention", "offers", "version", "order", "labelVisibility", "forbidden", "frames"),
    *("data", "columns", "labels", "queries", "keys", "source", "rows", "alternatives", "nodes"),  # of tokens
}
MEANT = {  # names and units, which are the same in all languages
    *("headlight", "english", "deutsch", "french", "gaps", "tales", "float", "bfloat", "cpu", "nats", "kib", "mib"),
    *("bos", "eos", "unk", "mask", "encoder", "decoder", "cross", "extra", "script", "primary", "badge", "openai"),
    *("community", "gpt", "customdata", "layer", "head", "mlp", "ms"),
}
READ = " ".join((*EXAMPLES, *GAPS, *PROMPTS, *TARGETS)).lower()  # tokens are parts of it


class Numbers(NullTranslations):
    """A language that has a number for each text; the places of values stay."""

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


@pytest.fixture
def in_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """All is said in numbers."""
    monkeypatch.setattr(language, "_catalogue", cache(lambda _: Numbers()))
    monkeypatch.setattr(language, "_ask", lambda: "de")
    monkeypatch.setattr(tongue, "ask_for_language", lambda ask: None)


@pytest.mark.usefixtures("in_numbers")
@pytest.mark.parametrize(
    ("page", "parameters"),
    [
        ("explore/heads.py", {"measure": "entropy", "query": "1", "key": "1", "across": "rollout"}),
        ("explore/heads.py", {"model": "gaps", "as": "lines"}),
        ("explore/decoding.py", {}),
        ("explore/decoding.py", {"model": "tales", "part": "cache"}),
        ("explore/decoding.py", {"model": "gaps"}),
        ("explore/compare.py", {}),
        ("explore/compare.py", {"view": "changed", "btext": "The dog sees the cat."}),
        ("explore/compare.py", {"view": "map"}),
        ("explore/compare.py", {"view": "layers"}),
        ("explore/compare.py", {"view": "texts"}),
        ("models/models.py", {}),
        ("train/train.py", {}),
    ],
)
def test_no_english_is_left_on_a_page(page: str, parameters: dict[str, str]):
    app = AppTest.from_file(str(FRAME), default_timeout=120)
    app.run()
    app.switch_page(page)
    app.query_params.update(parameters)
    app.run()
    assert not app.exception
    assert any("¤" in text for _, text in texts_of(app))
    assert not [(field, text[:200]) for field, text in texts_of(app) if left_over(text)]


def left_over(text: str) -> list[str]:
    """Return the words of a text that are neither said nor data: tokens in quotation marks, names, units."""
    bare = re.sub(r"<style>.*?</style>|<img[^>]*>", "", text, flags=re.DOTALL)
    bare = re.sub(r"title='([^']*)'|<[^>]+>", r" \1 ", bare)
    bare = re.sub(r":material/\w+:|&\w+;|¤\d+|“[^”]*”|'[^']*'", " ", bare)
    words = (word for word in re.findall(r"[A-Za-zÀ-ÿ]{3,}", bare) if not word.isupper())
    return [word for word in words if word.lower() not in MEANT and word.lower() not in READ]


def texts_of(app: AppTest) -> Iterator[tuple[str, str]]:
    """Yield all that the page sent to be read, with the names of their fields."""
    for node in _nodes(app._tree):
        kind = getattr(node, "type", "")
        proto: Any = getattr(node, "proto", None)
        if kind in ("code", "json") or not hasattr(proto, "DESCRIPTOR"):
            continue
        if kind != "bidi_component":
            yield from _texts(kind, MessageToDict(proto))
            continue
        data = json.loads(proto.json) if proto.json else _header(proto.bytes)
        if "figure" in data:
            yield from (found for found in _texts("figure", json.loads(data.pop("figure"))) if _is_shown(found[0]))
        yield from _texts("component", data)


def _is_shown(field: str) -> bool:
    return field.rpartition(".")[2] in OF_FIGURES and ".template." not in field


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", {}).values():
        yield from _nodes(child)


def _header(data: bytes) -> dict[str, Any]:
    if not data:
        return {}
    (length,) = struct.unpack("<I", data[:4])
    header: dict[str, Any] = json.loads(data[4 : 4 + length])
    return header


def _texts(field: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in NO_WORDS:
                yield from _texts(f"{field}.{name}", inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(field, inner)
    elif isinstance(value, str):
        yield field, value
