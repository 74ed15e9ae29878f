"""Texts as people have them: each is uploaded, trained on and saved on the page, and looked at on every page."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.corpora import written
from tests.e2e.browser import Server, serve
from tests.e2e.looking import faults, open_address, type_text, view_of, wait

pytestmark = pytest.mark.browser

BOOK, LINES = written.chapter(seed=1, n_paragraphs=80), written.lines(seed=1, n=200)
ARABIC, PAIRS = written.in_arabic(seed=1, n=400), written.pairs(seed=1, n=2000)


@dataclass(frozen=True)
class Upload:
    """A file, what is chosen on the page Train before it is trained on, and a text of its own."""

    file: str
    content: bytes
    text: str
    choices: Mapping[str, str] = field(default_factory=dict)


UPLOADS = (
    Upload("letters.tsv", written.as_tsv(PAIRS).encode(), next(source for source, _ in PAIRS if "?" in source)),
    Upload(
        "old-book.txt",
        BOOK.encode("cp1252"),
        BOOK.split("\n\n")[3][:60],
        {"Tokens": "characters", "Texts": "one running text"},
    ),
    Upload(
        "lines.txt",
        LINES.encode(),
        LINES.splitlines()[7].replace("window", "____"),
        {"Model": "encoder", "Tokens": "words"},
    ),
    Upload("arabic.txt", ARABIC.encode(), ARABIC.splitlines()[5]),
)
FIGURES = {  # what is drawn on each page of a text
    "heads": ".js-plotly-plot",
    "decoding": ".js-plotly-plot",
    "compare": ".js-plotly-plot",
    "steps": ".js-plotly-plot",
    "positions": ".js-plotly-plot",
    "masks": "canvas.cells",
    "architecture": "svg.sheet",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with no runs and no models yet."""
    place = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RUNS", "CHECKPOINTS", "CACHE"):
            patch.setenv(f"HEADLIGHT_{name}", str(place / name.lower()))
        with serve() as server:
            yield server


@pytest.mark.parametrize("upload", UPLOADS, ids=lambda upload: upload.file)
def test_a_file_is_uploaded_trained_on_saved_and_seen_on_every_page(upload: Upload, page: Page, tmp_path: Path):
    (tmp_path / upload.file).write_bytes(upload.content)
    name = Path(upload.file).stem
    page.goto("/train?run=")
    page.get_by_role("radio", name="Your own text").click()
    page.locator("input[type=file]").set_input_files(tmp_path / upload.file)
    expect(page.get_by_role("combobox", name="Train on")).to_have_value(re.compile(name))
    wait_for_analysis(page)
    for label, option in upload.choices.items():
        choose(page, label, option)
    wait_for_analysis(page)
    page.get_by_text("Training settings").click()
    steps = page.get_by_label("Steps", exact=True)
    steps.fill("6")
    steps.press("Enter")
    wait_for_analysis(page)
    assert not faults(page)
    page.get_by_role("button", name="Start training").click()
    expect(page.locator(".st-key-hl-train-head").get_by_text("finished", exact=True)).to_be_visible()
    expect(page.locator(".st-key-hl-train-head")).to_contain_text("step 6 of 6")
    expect(page.get_by_text("Diagnosis", exact=True)).to_be_visible()
    wait(page)  # the page of a run that has just finished is drawn anew, and a click on a button that goes is lost
    page.get_by_role("button", name="Save as model").click()
    page.get_by_role("button", name="Look at its heads").click()
    expect(page).to_have_url(re.compile(r"/heads(\?|$)"))
    expect(page.get_by_role("combobox", name="Model")).to_have_value(re.compile(name))
    wait(page)
    look_at_every_page(page, name, upload.text)


def wait_for_analysis(page: Page) -> None:
    """Return when the corpus is analysed, as it is chosen now, and a training could start."""
    wait(page)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.get_by_role("button", name="Start training")).to_be_enabled()
    wait(page)


def choose(page: Page, label: str, option: str) -> None:
    """Choose one of the buttons beside each other, or an option of a select box."""
    if label == "Model":
        page.get_by_role("radio", name=option, exact=True).click()
    else:
        page.get_by_role("combobox", name=re.compile(label)).click()
        page.get_by_role("option", name=option, exact=True).click()
    wait(page)  # the next choice comes before the analysis of this one is there


def look_at_every_page(page: Page, model: str, text: str) -> None:
    """Type a text of its own into Heads, open every other page on it, and those that tell how the model came about."""
    seen: dict[str, list[str]] = {}
    for address, figure in FIGURES.items():
        open_address(page, f"{address}?{urlencode({'model': model} | ({'text': text} if address != 'heads' else {}))}")
        if address == "heads":
            type_text(page, text)
        expect(page.locator(figure).first).to_be_visible()
        seen[address] = troubles(page)
        assert view_of(page)["text"] == text
    for address in (f"models?model={model}", f"train?run={model}", f"film?run={model}", f"tour?model={model}"):
        open_address(page, address)
        if address.startswith(("train", "film")):
            expect(page.locator(".js-plotly-plot").first).to_be_visible()
        seen[address] = troubles(page)
    assert not any(seen.values()), seen


def troubles(page: Page) -> list[str]:
    """What is wrong with the look of a page, and whether it ended in an error."""
    errors = page.locator("[data-testid=stException]").all_inner_texts()
    return [*errors, *faults(page)]
