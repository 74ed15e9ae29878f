"""The page that README makes, made as it says: one folder and a file of German words, and nothing else is touched."""

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import ROOT, Server, serve

pytestmark = pytest.mark.browser

MADE = re.compile(r"`(pages/[^`]+)`[^\n]*:\n\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with one page more, in a folder of its own."""
    place = tmp_path_factory.mktemp("app")
    shutil.copy(ROOT / "app.py", place)
    for folder in ("pages", ".streamlit"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    files = dict(MADE.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    assert [*files] == ["pages/explore/row/__init__.py", "pages/explore/row/page.py", "pages/languages/de/row.po"]
    (place / "pages/explore/row").mkdir()
    for name, content in files.items():
        (place / name).write_text(content, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CHECKPOINTS", str(ROOT / "checkpoints"))
        patch.setenv("PYTHONPATH", f"{place}:{ROOT}")
        with serve(place=place) as server:
            yield server


def test_it_is_in_the_navigation_and_draws_what_is_chosen(page: Page):
    page.goto("/heads")
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Row").click()
    expect(page.get_by_role("heading", name="Row", level=1)).to_be_visible()
    title = page.locator(".figure .gtitle")
    expect(title).to_contain_text("query 0")
    page.get_by_role("slider", name="Query").press("ArrowRight")
    expect(title).to_contain_text("query 1")
    expect(page).to_have_url(re.compile(r"/row\?.*query=1"))


def test_a_link_restores_it_and_a_wrong_one_is_told(page: Page):
    page.goto("/row?query=2")
    expect(page.locator(".figure .gtitle")).to_contain_text("query 2")
    page.goto("/row?query=many")
    expect(page.get_by_text("The address asks for query “many”")).to_be_visible()


def test_it_speaks_german(page: Page):
    page.goto("/row?language=de")
    expect(page.get_by_role("heading", name="Zeile", level=1)).to_be_visible()
    expect(page.get_by_text("Wohin eine Query schaut")).to_be_attached()  # folded where the page was seen before
