"""Texts as people have them: uploaded and analysed, trained on and saved on the Train page, and looked at elsewhere."""

import re
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.corpora import written
from tests.e2e.looking import faults, open_address, type_text, wait

FIGURES = {"heads": ".js-plotly-plot", "steps": ".js-plotly-plot", "masks": "canvas.cells", "architecture": "svg.sheet"}


def test_a_file_is_uploaded_trained_on_saved_and_seen_on_other_pages(page: Page, place: Path, tmp_path: Path):
    texts = written.in_arabic(seed=1, n=150)
    upload(page, tmp_path / "arabic.txt", texts.encode())
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
    wait(page)  # the page of a run that has just finished is redrawn, and a click on a button that goes is lost
    page.get_by_role("button", name="Save as model").click()
    page.get_by_role("button", name="Look at its heads").click()
    expect(page).to_have_url(re.compile(r"/heads(\?|$)"))
    expect(page.get_by_role("combobox", name="Model")).to_have_value(re.compile("arabic"))
    wait(page)
    text = texts.splitlines()[5]
    type_text(page, text)
    for address, figure in FIGURES.items():
        if address != "heads":
            open_address(page, f"{address}?{urlencode({'model': 'arabic', 'text': text})}")
        expect(page.locator(figure).first).to_be_visible()
        assert not troubles(page), address
    for address in ("models?model=arabic", "film?run=arabic"):
        open_address(page, address)
        assert not troubles(page), address


def upload(page: Page, file: Path, content: bytes) -> None:
    """Choose a custom text on the Train page, and wait until it is analysed."""
    file.write_bytes(content)
    page.goto("/train?run=")
    page.get_by_role("radio", name="Your own text").click()
    page.locator("input[type=file]").first.set_input_files(file)
    expect(page.get_by_role("combobox", name="Train on")).to_have_value(re.compile(file.stem))
    wait_for_analysis(page)


def wait_for_analysis(page: Page) -> None:
    """Return when the corpus is analysed, as it is chosen now, and a training could start."""
    wait(page)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.get_by_role("button", name="Start training")).to_be_enabled()
    wait(page)


def troubles(page: Page) -> list[str]:
    """What is wrong with the look of a page, and whether it ended in an error."""
    return [*page.locator("[data-testid=stException]").all_inner_texts(), *faults(page)]
