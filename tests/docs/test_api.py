"""The API reference has every public name with its signature and its docstring, and every link leads somewhere."""

import inspect
import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

import transformer_core as tc
from tests.conftest import ROOT


class Seen(HTMLParser):
    """The addresses that an HTML page leads to, its marks, and the text of each element that has one."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.texts: dict[str, str] = {}  # by mark, with all that is inside
        self._open: list[tuple[str, str]] = []  # tag and mark
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.links += [link for name in ("href", "src") if (link := values.get(name))]
        mark = values.get("id") or ""
        if mark:
            self.texts.setdefault(mark, "")
        if tag in ("section", "div"):
            self._open.append((tag, mark))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("section", "div"):
            assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, mark in self._open:
            if mark:
                self.texts[mark] += data


@cache
def seen(page: Path) -> Seen:
    """An HTML page, read once."""
    return Seen(page)


def broken(page: Path, links: list[str]) -> list[str]:
    """Those of a page's links that lead to no file, or to no mark of an HTML page; other sites are not asked."""
    found = []
    for link in links:
        parts = urlsplit(link)
        target = (page.parent / unquote(parts.path)) if parts.path else page
        if parts.scheme or parts.netloc:
            continue
        marks = seen(target).texts if target.is_file() and target.suffix == ".html" and parts.fragment else {}
        if not target.is_file() or (parts.fragment and target.suffix == ".html" and parts.fragment not in marks):
            found.append(f"{page.name}: {link}")
    return found


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reference, written by a process of its own: the tests' type checks would stand in signatures."""
    folder = tmp_path_factory.mktemp("reference") / "api"
    written = subprocess.run(
        [sys.executable, "-m", "tests.docs.api", str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert written.returncode == 0, written.stderr
    return folder


@pytest.mark.full
def test_every_public_name_has_its_signature_and_its_docstring(reference: Path):
    entries = seen(reference / "transformer_core.html")
    for name in tc.__all__:
        value = getattr(tc, name)
        if isinstance(value, ModuleType):
            page = value.__name__.replace(".", "/") + ".html"
            named = {key: getattr(value, key) for key in getattr(value, "__all__", vars(value))}
            own = {key: of for key, of in named.items() if getattr(of, "__module__", "").startswith(value.__name__)}
            functions = {key for key, of in own.items() if inspect.isfunction(of) and key[0] != "_"}
            assert page in entries.links
            assert functions and functions <= set(seen(reference / page).texts)
            continue
        shown = " ".join(entries.texts[name].split())
        if inspect.isfunction(value) or "__init__" in vars(value):
            for parameter in inspect.signature(value).parameters:
                assert parameter in shown, f"{name}: {parameter}"
        assert inspect.getdoc(value), name
        for word in re.findall(r"\w+", (inspect.getdoc(value) or "").replace("Args:", "Arguments:")):
            assert word in shown, f"{name}: {word}"
    rooms = {path.relative_to(reference).as_posix() for path in reference.glob("transformer_core/*.html")}
    assert rooms <= set(entries.links) and len(rooms) > 10


@pytest.mark.full
def test_its_links_lead_somewhere(reference: Path):
    pages = sorted(reference.rglob("*.html"))
    assert len(pages) > 100
    assert [link for page in pages for link in broken(page, seen(page).links)] == []


def test_a_broken_link_is_seen(tmp_path: Path):
    (tmp_path / "there.html").write_text("<div id='part'>text</div>")
    page = tmp_path / "page.html"
    good, bad = ["there.html#part", "https://example.org/x", "there.html"], ["there.html#gone", "gone.html", "#gone"]
    page.write_text("".join(f"<a href='{link}'></a>" for link in good + bad))
    assert broken(page, seen(page).links) == [f"page.html: {link}" for link in bad]
