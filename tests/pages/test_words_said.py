"""Every marked text is translated: in a language of numbers no English text of the catalogue is left on a page.

Texts that are not marked at all are found without a page: tests/lints/said.py.
"""

import base64
import json
import re
from collections.abc import Iterator
from functools import cache
from gettext import NullTranslations
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
from streamlit.testing.v1 import AppTest

from headlight import language
from headlight.cli.launch import Launcher
from pages.languages import CATALOGUES
from pages.shared.glossary import terms, topics
from pages.shared.page import pages
from pages.shared.view import locale
from tests.pages.conftest import EXAMPLES, app_at, protos_of
from tests.pages.train.small_films import save_run

VIEWS = {  # of the pages that show most when something is chosen
    "architecture": {"part": "stream"},
    "build": {"step": "6", "attention": "cross"},
    "compare": {"view": "changed", "btext": EXAMPLES[1]},
    "decoding": {"part": "tree"},
    "film": {"run": "tales"},
    "glossary": {"term": "cka"},
    "heads": {"measure": "entropy", "query": "1", "key": "1", "across": "rollout"},
    "interventions": {"view": "heads"},
    "masks": {"preset": "flipped"},
    "positions": {"part": "model", "in": "shuffle"},
    "programs": {"program": "sort", "line": "1"},
    "steps": {"attention": "decoder", "cell": "mask.1.2"},
    "train": {"run": "tales"},
}


NOT_READ = {"id", "bytes", "templates", "legendgroup", "formula"}


class Numbers(NullTranslations):
    """A language that has a number for each text; the places of values stay."""

    def gettext(self, message: str) -> str:
        return f"¤{crc32(message.encode())}{''.join(re.findall(r'{[^{}]*}', message))}" if message else ""

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


@pytest.fixture
def in_numbers(three_kinds_here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> frozenset[str]:
    """The pages say numbers; the English texts of the catalogue that no name or token is called like."""
    save_run(tmp_path / "tales", architecture="decoder_only")
    language.add_catalogues(CATALOGUES[0])
    english = frozenset(text for text in language.messages("de") if re.match(r"[A-Z]\w|\w+ \w", text))
    english -= {term.title for term in terms("de").values()}  # come from the glossary, not from the catalogue
    english -= {topic.title for topic in topics("de").values()}
    monkeypatch.setattr(language, "_catalogue", cache(lambda _: Numbers()))
    monkeypatch.setattr(language, "_ask", lambda: "de")
    monkeypatch.setattr(locale, "ask_for_language", lambda ask: None)
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path))
    return english


def strings(value: Any) -> Iterator[str]:
    """Every string in what was sent, also in JSON that was sent as a string, or before the bytes of a component."""
    if isinstance(value, dict):
        packed = base64.b64decode(value["bytes"]) if isinstance(value.get("bytes"), str) else b""
        header = packed[4 : 4 + int.from_bytes(packed[:4], "little")].decode(errors="replace")
        value = [of for name, of in value.items() if name not in NOT_READ] + [header]
    if isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, str) and value.startswith(("{", "[")):
        try:
            yield from strings(json.loads(value))
        except ValueError:
            yield value
    elif isinstance(value, str):
        yield value


def sent(app: AppTest) -> Iterator[str]:
    """The texts of a page, each between two tags."""
    for proto in protos_of(app._tree, without=("code", "json")):
        for text in strings(MessageToDict(proto)):
            yield from map(str.strip, re.split(r"<[^>]*>", text))


@pytest.mark.parametrize("url", [url for url in pages() if url != "tour"])  # lessons bring their own words
def test_no_text_of_the_catalogue_is_left_in_english(url: str, in_numbers: frozenset[str]):
    app = app_at(url, VIEWS.get(url, {})).run()
    assert not [error.stack_trace for error in app.exception]
    results = {*sent(app)}
    assert any("¤" in text for text in results)
    assert results & in_numbers == frozenset()
