"""The API reference has the signature and docstring of every public name, and no broken links."""

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


class HtmlPage(HTMLParser):
    """The links of an HTML page, and the text of each element that has an id."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.texts: dict[str, str] = {}  # by id, with the text of inner elements
        self._open: list[tuple[str, str]] = []  # tag and id
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.links += [link for name in ("href", "src") if (link := values.get(name))]
        if element := values.get("id") or "":
            self.texts.setdefault(element, "")
        if tag in ("section", "div"):
            self._open.append((tag, element))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("section", "div"):
            assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, element in self._open:
            if element:
                self.texts[element] += data


@cache
def parse(page: Path) -> HtmlPage:
    """Parse an HTML page, once."""
    return HtmlPage(page)


def broken(page: Path) -> list[str]:
    """Return the links of a page to a missing file, or to a missing id; links to other sites are not checked."""
    problems = []
    for link in parse(page).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)) if parts.path else page
        is_page = target.suffix == ".html"
        if not target.is_file() or (parts.fragment and is_page and parts.fragment not in parse(target).texts):
            problems.append(f"{page.name}: {link}")
    return problems


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reference, written by another process: the type checks of tests would appear in signatures."""
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
    entries = parse(reference / "transformer_core.html")
    for name in tc.__all__:
        value = getattr(tc, name)
        if isinstance(value, ModuleType):
            page = value.__name__.replace(".", "/") + ".html"
            named = {key: getattr(value, key) for key in getattr(value, "__all__", vars(value))}
            own = {key: of for key, of in named.items() if getattr(of, "__module__", "").startswith(value.__name__)}
            functions = {key for key, of in own.items() if inspect.isfunction(of) and key[0] != "_"}
            assert page in entries.links
            assert functions and functions <= set(parse(reference / page).texts)
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
def test_no_link_is_broken(reference: Path):
    pages = sorted(reference.rglob("*.html"))
    assert len(pages) > 100
    assert [link for page in pages for link in broken(page)] == []


def test_a_broken_link_is_reported(tmp_path: Path):
    (tmp_path / "there.html").write_text("<div id='part'>text</div>")
    page = tmp_path / "page.html"
    good, bad = ["there.html#part", "https://example.org/x", "there.html"], ["there.html#gone", "gone.html", "#gone"]
    page.write_text("".join(f"<a href='{link}'></a>" for link in good + bad))
    assert broken(page) == [f"page.html: {link}" for link in bad]
