"""Texts as people have them, each learned by a small model in a process of its own, and looked at on every page."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.corpora import written
from tests.e2e.browser import ROOT, Server, serve
from tests.e2e.looking import faults, type_text, view_of, wait

pytestmark = pytest.mark.browser

SMALL = (
    "--steps 6 --set d_model=32 --set d_ff=32 --set batch_size=8 --set evaluate_pairs=8 --set evaluate_every=6".split()
)
BOOK, LINES = written.chapter(seed=1, n_paragraphs=80), written.lines(seed=1, n=200)
ARABIC, PAIRS = written.in_arabic(seed=1, n=400), written.pairs(seed=1, n=2000)
BROUGHT: dict[str, tuple[str, bytes, dict[str, str], str]] = {  # name of the file, bytes, choices, text of its own
    "letters": (
        "letters.tsv",
        written.as_tsv(PAIRS).encode(),
        {},
        next(source for source, _ in PAIRS if "?" in source),
    ),
    "book": (
        "book.txt",
        BOOK.encode(),
        {"Tokens": "characters", "Texts": "one running text"},
        BOOK.split("\n\n")[3][:60],
    ),
    "old-book": ("old-book.txt", BOOK.encode("cp1252"), {}, BOOK.split("\n\n")[2]),
    "lines": (
        "lines.txt",
        LINES.encode(),
        {"Model": "encoder", "Tokens": "words"},
        LINES.splitlines()[7].replace("window", "____"),
    ),
}
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
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where runs and models are; one was trained and kept as from a shell."""
    place = tmp_path_factory.mktemp("own")
    (place / "arabic.txt").write_text(ARABIC, encoding="utf-8")
    options = ["--preset", "tiny-attention", "--set", "tokens=byte_bpe", *SMALL]
    where = ["--run", str(place / "runs" / "arabic"), "--keep", str(place / "checkpoints" / "arabic")]
    command = [sys.executable, "-m", "transformer_core", "train", "--corpus", str(place / "arabic.txt")]
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RUNS", "CHECKPOINTS", "CACHE"):
            patch.setenv(f"HEADLIGHT_{name}", str(place / name.lower()))
        patch.setenv("OMP_NUM_THREADS", "1")
        subprocess.run([*command, *options, *where], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        yield place


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    """The app over these models."""
    with serve() as server:
        yield server


def test_a_text_that_was_trained_on_from_a_shell(page: Page):
    look_at_every_page(page, "arabic", ARABIC.splitlines()[5])


@pytest.mark.parametrize("name", BROUGHT)
def test_a_text_is_brought_trained_on_and_kept_on_the_page(name: str, page: Page, tmp_path: Path):
    file, content, choices, text = BROUGHT[name]
    (tmp_path / file).write_bytes(content)
    page.goto("/train?run=")
    page.get_by_role("radio", name="Your own text").click()
    page.locator("input[type=file]").set_input_files(tmp_path / file)
    start = page.get_by_role("button", name="Start training")
    expect(start).to_be_enabled()
    for label, option in choices.items():
        if label == "Model":
            page.get_by_role("radio", name=option, exact=True).click()
        else:
            page.get_by_role("combobox", name=re.compile(label)).click()
            page.get_by_role("option", name=option, exact=True).click()
        wait(page)
        expect(start).to_be_enabled()
    page.get_by_text("How it is trained").click()
    steps = page.get_by_label("Steps", exact=True)
    steps.fill("6")
    steps.press("Enter")
    wait(page)
    assert not faults(page)
    start.click()
    expect(page.locator(".st-key-hl-train-head").get_by_text("finished", exact=True)).to_be_visible()
    expect(page.locator(".st-key-hl-train-head")).to_contain_text("step 6 of 6")
    page.get_by_role("button", name="Save as model").click()
    page.get_by_role("button", name="Look at its heads").click()
    expect(page).to_have_url(re.compile(f"model={name}"))
    wait(page)
    look_at_every_page(page, name, text)


def look_at_every_page(page: Page, model: str, text: str) -> None:
    """Type a text of its own into Heads, open every other page on it, and those that tell how it came about."""
    seen: dict[str, list[str]] = {}
    for address, figure in FIGURES.items():
        page.goto(f"/{address}?{urlencode({'model': model} | ({'text': text} if address != 'heads' else {}))}")
        wait(page)
        if address == "heads":
            type_text(page, text)
        expect(page.locator(figure).first).to_be_visible()
        seen[address] = troubles(page)
        assert view_of(page)["text"] == text
    for address in (f"models?model={model}", f"train?run={model}", f"film?run={model}", f"tour?model={model}"):
        page.goto(f"/{address}")
        wait(page)
        if address.startswith(("train", "film")):
            expect(page.locator(".js-plotly-plot").first).to_be_visible()
        seen[address] = troubles(page)
    assert not any(seen.values()), seen


def troubles(page: Page) -> list[str]:
    """What is wrong with the look of a page, and whether it ended in an error."""
    errors = page.locator("[data-testid=stException]").all_inner_texts()
    return [*errors, *faults(page)]
