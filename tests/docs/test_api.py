"""The API reference has the signature and docstring of every public name, and no broken links."""

import inspect
import os
import re
import subprocess
import sys
from functools import cache
from html import unescape
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

import headlight as hl
import transformer_core as tc
from tests.conftest import ROOT


class HtmlPage(NamedTuple):
    """An HTML page: its links, its ids, and the text of each section by its id."""

    links: list[str]
    ids: set[str]
    texts: dict[str, str]


@cache
def parse(page: Path) -> HtmlPage:
    """Parse an HTML page, once."""
    html = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    _, *parts = re.split(r'<section id="([^"]+)"', html)
    texts = [unescape(re.sub(r"<[^>]*>", "", part)) for part in parts]
    links, ids = (re.findall(rf"\b(?:{name})=[\"']([^\"']+)", html) for name in ("href|src", "id"))
    return HtmlPage(links, {*ids}, dict(zip(texts[::2], texts[1::2], strict=True)))


def broken(page: Path) -> list[str]:
    """Return the links of a page to a missing file, or to a missing id; links to other sites are not checked."""
    problems = []
    for link in parse(page).links:
        scheme, site, path, _, fragment = urlsplit(unescape(link))
        target = (page.parent / unquote(path)) if path else page
        if scheme or site or (target.is_file() and not fragment):
            continue
        if not target.is_file() or (target.suffix == ".html" and fragment not in parse(target).ids):
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
@pytest.mark.parametrize("package", [tc, hl], ids=["transformer_core", "headlight"])
def test_every_public_name_has_its_signature_and_its_docstring(package: ModuleType, reference: Path):
    entries = parse(reference / f"{package.__name__}.html")
    for name in package.__all__:
        value = getattr(package, name)
        if isinstance(value, ModuleType):
            page = value.__name__.replace(".", "/") + ".html"
            public = {key: getattr(value, key) for key in getattr(value, "__all__", vars(value))}
            own = {key: of for key, of in public.items() if getattr(of, "__module__", "").startswith(value.__name__)}
            functions = {key for key, of in own.items() if inspect.isfunction(of) and key[0] != "_"}
            assert page in entries.links
            assert functions and functions <= parse(reference / page).ids
            continue
        shown = " ".join(entries.texts[name].split())
        if inspect.isfunction(value) or "__init__" in vars(value):
            for parameter in inspect.signature(value).parameters:
                assert parameter in shown, f"{name}: {parameter}"
        assert inspect.getdoc(value), name
        for word in re.findall(r"\w+", (inspect.getdoc(value) or "").replace("Args:", "Arguments:")):
            assert word in shown, f"{name}: {word}"
    modules = {path.relative_to(reference).as_posix() for path in reference.glob(f"{package.__name__}/*.html")}
    assert modules <= set(entries.links) and len(modules) > 3


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
