"""Texts as people have them: each is uploaded, trained on and saved on the page, and looked at on every page."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.corpora import written
from tests.e2e.looking import faults, open_address, type_text, wait

pytestmark = pytest.mark.browser

BOOK, ARABIC = written.chapter(seed=1, n_paragraphs=30), written.in_arabic(seed=1, n=150)


@dataclass(frozen=True)
class Upload:
    """A file, what is chosen before it is trained on, a text of its own, and the pages on which that is looked at."""

    file: str
    content: bytes
    text: str
    pages: Sequence[str]
    choices: Mapping[str, str] = field(default_factory=dict)


UPLOADS = (
    Upload(
        "old-book.txt",
        BOOK.encode("cp1252"),
        BOOK.split("\n\n")[3][:60],
        ("heads", "decoding", "positions"),
        {"Tokens": "characters", "Texts": "one running text"},
    ),
    Upload("arabic.txt", ARABIC.encode(), ARABIC.splitlines()[5], ("heads", "steps", "masks", "architecture")),
)
FIGURES = {"masks": "canvas.cells", "architecture": "svg.sheet"}  # of other pages: plotly's


@pytest.mark.parametrize("upload", UPLOADS, ids=lambda upload: upload.file)
def test_a_file_is_uploaded_trained_on_saved_and_seen(upload: Upload, page: Page, place: Path, tmp_path: Path):
    (tmp_path / upload.file).write_bytes(upload.content)
    name = Path(upload.file).stem
    page.goto("/train?run=")
    page.get_by_role("radio", name="Your own text").click()
    page.locator("input[type=file]").set_input_files(tmp_path / upload.file)
    expect(page.get_by_role("combobox", name="Train on")).to_have_value(re.compile(name))
    wait_for_analysis(page)
    for label, option in upload.choices.items():
        page.get_by_role("combobox", name=re.compile(label)).click()
        page.get_by_role("option", name=option, exact=True).click()
        wait(page)  # the next choice comes before the analysis of this one is there
    wait_for_analysis(page)
    page.get_by_text("Training settings").click()
    steps = page.get_by_label("Steps", exact=True)
    steps.fill("6")
    steps.press("Enter")
    wait_for_analysis(page)
    assert not faults(page)
    page.get_by_role("button", name="Start training").click()
    head = page.locator(".st-key-hl-train-head")
    expect(head.get_by_text("finished", exact=True)).to_be_visible(timeout=120_000)
    expect(head).to_contain_text("step 6 of 6")
    expect(page.get_by_text("Diagnosis", exact=True)).to_be_visible()
    wait(page)  # the page of a run that has just finished is drawn anew, and a click on a button that goes is lost
    page.get_by_role("button", name="Save as model").click()
    page.get_by_role("button", name="Look at its heads").click()
    expect(page).to_have_url(re.compile(r"/heads(\?|$)"))
    expect(page.get_by_role("combobox", name="Model")).to_have_value(re.compile(name))
    wait(page)
    type_text(page, upload.text)
    for address in upload.pages:
        if address != "heads":
            open_address(page, f"{address}?{urlencode({'model': name, 'text': upload.text})}")
        expect(page.locator(FIGURES.get(address, ".js-plotly-plot")).first).to_be_visible()
        assert not troubles(page), address
    for address in (f"models?model={name}", f"film?run={name}"):
        open_address(page, address)
        assert not troubles(page), address


def wait_for_analysis(page: Page) -> None:
    """Return when the corpus is analysed, as it is chosen now, and a training could start."""
    wait(page)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.get_by_role("button", name="Start training")).to_be_enabled()
    wait(page)


def troubles(page: Page) -> list[str]:
    """What is wrong with the look of a page, and whether it ended in an error."""
    return [*page.locator("[data-testid=stException]").all_inner_texts(), *faults(page)]
