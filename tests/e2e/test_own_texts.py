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
from transformer_core.corpora.storage.uploads import take_in

pytestmark = pytest.mark.browser

SMALL = (
    "--steps 6 --set d_model=32 --set d_ff=32 --set batch_size=8 --set evaluate_pairs=8 --set evaluate_every=6".split()
)
BOOK, LINES = written.chapter(seed=1, n_paragraphs=80), written.lines(seed=1, n=200)
ARABIC, PAIRS = written.in_arabic(seed=1, n=400), written.pairs(seed=1, n=2000)
MODELS = {  # how each is trained, and a text of its own
    "book": (
        ["--preset", "tiny-decoder", "--set", "tokens=character", "--set", "division=stream"],
        BOOK.split("\n\n")[3][:60],
    ),
    "old-book": (["--preset", "tiny-decoder", "--set", "tokens=byte_bpe"], BOOK.split("\n\n")[2]),
    "lines": (["--preset", "tiny-encoder", "--set", "tokens=word"], LINES.splitlines()[7].replace("window", "____")),
    "arabic": (["--preset", "tiny-attention", "--set", "tokens=byte_bpe"], ARABIC.splitlines()[5]),
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
    """Where runs and models are; all but the pairs are trained there side by side."""
    place = tmp_path_factory.mktemp("own")
    for name, text in (("book", BOOK), ("lines", LINES), ("arabic", ARABIC)):
        (place / f"{name}.txt").write_text(text, encoding="utf-8")
    files = {name: place / f"{name}.txt" for name in MODELS}
    files["old-book"] = take_in(BOOK.encode("cp1252"), "old-book.txt", place / "taken").path
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RUNS", "CHECKPOINTS", "CACHE"):
            patch.setenv(f"HEADLIGHT_{name}", str(place / name.lower()))
        patch.setenv("OMP_NUM_THREADS", "1")
        trainings = [train(name, file, place) for name, file in files.items()]
        for training in trainings:
            assert training.wait() == 0, training.communicate()
        yield place


def train(name: str, file: Path, place: Path) -> "subprocess.Popen[bytes]":
    """Begin to train and keep a model, as from a shell."""
    options, _ = MODELS[name]
    where = ["--run", str(place / "runs" / name), "--keep", str(place / "checkpoints" / name)]
    command = [sys.executable, "-m", "transformer_core", "train", "--corpus", str(file), *options, *where, *SMALL]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    """The app over these models."""
    with serve() as server:
        yield server


@pytest.mark.parametrize("model", MODELS)
def test_every_page(model: str, page: Page):
    _, text = MODELS[model]
    look_at_every_page(page, model, text)


def test_pairs_are_brought_trained_and_kept_on_the_page(page: Page, place: Path):
    (place / "letters.tsv").write_text(written.as_tsv(PAIRS), encoding="utf-8")
    page.goto("/train")
    page.get_by_role("radio", name="Your own text").click()
    page.locator("input[type=file]").set_input_files(place / "letters.tsv")
    start = page.get_by_role("button", name="Start training")
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
    expect(page).to_have_url(re.compile("model=letters"))
    wait(page)
    look_at_every_page(page, "letters", next(source for source, _ in PAIRS if "?" in source))
    for run in ("letters", "arabic"):
        look_at_training(page, run)


def look_at_every_page(page: Page, model: str, text: str) -> None:
    """Type a text of its own into Heads, and open every other page on it by its address."""
    seen: dict[str, list[str]] = {}
    for address, figure in FIGURES.items():
        page.goto(f"/{address}?{urlencode({'model': model} | ({'text': text} if address != 'heads' else {}))}")
        wait(page)
        if address == "heads":
            type_text(page, text)
        expect(page.locator(figure).first).to_be_visible()
        seen[address] = troubles(page)
        assert view_of(page)["text"] == text
    assert not any(seen.values()), seen


def look_at_training(page: Page, run: str) -> None:
    """Open the pages that tell of the model itself and of how it came about."""
    seen: dict[str, list[str]] = {}
    for address in (f"models?model={run}", f"train?run={run}", f"film?run={run}"):
        page.goto(f"/{address}")
        wait(page)
        if not address.startswith("models"):
            expect(page.locator(".js-plotly-plot").first).to_be_visible()
        seen[address] = troubles(page)
    assert not any(seen.values()), seen


def troubles(page: Page) -> list[str]:
    """What is wrong with the look of a page, and whether it ended in an error."""
    errors = page.locator("[data-testid=stException]").all_inner_texts()
    return [*errors, *faults(page)]
