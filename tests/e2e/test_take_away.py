"""Figures as files: pictures for a paper, numbers, a page that opens offline, and all of it in one archive."""

import csv
import io
import json
import re
import struct
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.looking import cell_at, faults, wait
from tests.e2e.test_heads import open_heads, title

VIEW = "/heads?attention=encoder&layer=0&head=0&text=The+cat."
N_TOKENS = 4  # "The", "cat", ".", "<eos>"
ANIMAL = "The animal did not cross the street because it was too tired"
SVG = "{http://www.w3.org/2000/svg}"
MM, PT = 96 / 25.4, 96 / 72  # px
BEYOND = """() => {  // what is written beyond a picture's edges
  const edges = document.querySelector("svg").getBoundingClientRect();
  const isIn = ({ left, right, top, bottom }) => left >= edges.left - 1 && right <= edges.right + 1
    && top >= edges.top - 1 && bottom <= edges.bottom + 1;
  const texts = [...document.querySelectorAll("svg text")];
  return texts.filter((text) => !isIn(text.getBoundingClientRect())).map((text) => text.textContent);
}"""
LABELS = "text => text.map((label) => label.textContent).filter(Boolean)"


def figure_of(page: Page) -> Locator:
    """The first heatmap on the page, with its buttons."""
    return page.locator(".figure").filter(has=page.get_by_role("application")).first


def open_menu(figure: Locator) -> Locator:
    """Open what can be saved, and wait until the server's part is there."""
    figure.get_by_role("button", name="Save", exact=True).click()
    menu = figure.get_by_role("dialog", name="Save this figure")
    expect(menu).to_be_visible()
    expect(menu.get_by_role("button", name="(ZIP)")).to_be_enabled()
    return menu


def saved(figure: Locator, kind: str, *, width: str | None = None) -> tuple[str, bytes]:
    """Save one kind of file; return its name and what is in it."""
    if width is not None:
        figure.get_by_text(width, exact=True).click()
    with figure.page.expect_download() as download:
        figure.get_by_role("button", name=f"({kind})").click()
    return download.value.suggested_filename, download.value.path().read_bytes()


def png_size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def labels(of: Locator | Page, axis: str) -> list[str]:
    results: list[str] = of.locator(f".{axis}tick text").evaluate_all(LABELS)
    return results


def opened(page: Page, picture: bytes) -> Page:
    """A saved picture on its own page, in which nothing is written beyond the edges."""
    shown = page.context.new_page()
    shown.set_content(picture.decode())
    assert shown.evaluate(BEYOND) == []
    return shown


def test_a_picture_for_a_paper_is_as_wide_as_asked_light_and_legible(new_page: Callable[..., Page]):
    page = new_page(color_scheme="dark")
    open_heads(page, VIEW)
    figure = figure_of(page)
    open_menu(figure)
    for width in (88, 180):  # mm
        name, text = saved(figure, "SVG", width=f"{width} mm")
        assert name.endswith("-encoder-layer0-head0.svg")
        picture = ET.fromstring(text)
        assert picture.get("width") == f"{width}mm"
        _, _, wide, high = map(float, picture.get("viewBox", "").split())
        assert wide == pytest.approx(width * MM)
        assert float(picture.get("height", "").removesuffix("mm")) == pytest.approx(high / MM, abs=0.01)
        sizes = [float(size) / PT for size in re.findall(r"font-size: ([\d.]+)px", text.decode())]
        assert sizes and min(sizes) > 6.99 and max(sizes) < 9.01
        shapes = [path for path in picture.iter(f"{SVG}path") if path.get("fill", "").startswith("rgb")]
        assert sum(path.get("d", "").count("M") for path in shapes) == N_TOKENS**2  # a cell each, and no image of them
        assert not [*picture.iter(f"{SVG}image")]
        ground = picture.find(f"{SVG}rect")
        assert ground is not None and "fill: rgb(255, 255, 255)" in ground.get("style", "")
        opened(page, text).close()
    _, png = saved(figure, "PNG")
    n_pixels = round(180 / 25.4 * 600), round(180 / 25.4 * 600 * high / wide)
    assert png_size(png) == pytest.approx(n_pixels, abs=4)
    at = png.index(b"pHYs")
    assert struct.unpack(">IIB", png[at + 4 : at + 13]) == (23622, 23622, 1)  # 600 dots per inch, in meters
    for chosen in ("1,600 px", "as shown"):
        opened(page, saved(figure, "SVG", width=chosen)[1]).close()


def test_every_token_is_named_on_the_screen_and_on_paper(page: Page):
    text = " . ".join([ANIMAL] * 3) + " ."
    tokens = [*text.split(), "<eos>"]
    open_heads(page, f"/heads?attention=encoder&layer=0&head=0&text={text.replace(' ', '+')}")
    wait(page)
    figure = figure_of(page)
    assert labels(figure, "x") == labels(figure, "y") == tokens
    open_menu(figure)
    for width in ("88 mm", "180 mm"):
        shown = opened(page, saved(figure, "SVG", width=width)[1])
        assert labels(shown, "x") == labels(shown, "y") == tokens and not faults(shown)
        shown.close()


def test_numbers_and_the_archive_say_what_the_table_says(page: Page):
    open_heads(page, VIEW)
    figure = figure_of(page)
    open_menu(figure)
    name, packed = saved(figure, "ZIP", width="88 mm")
    stem = name.removesuffix(".zip")
    table, arrays = saved(figure, "CSV")[1], saved(figure, "NPZ")[1]
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        assert files.testzip() is None
        pictures = {f"{stem}.{ending}" for ending in ("svg", "png", "csv", "npz", "html")}
        assert set(files.namelist()) == pictures | {"redraw.py", "state.json"}
        assert (files.read(f"{stem}.csv"), files.read(f"{stem}.npz")) == (table, arrays)
        assert ET.fromstring(files.read(f"{stem}.svg")).get("width") == "88mm"
        compile(files.read("redraw.py"), "redraw.py", "exec")
        state = json.loads(files.read("state.json"))
    assert re.fullmatch("[0-9a-f]{64}", state["model"]["sha256"]) and state["view"]["text"] == "The cat."
    rows = list(csv.DictReader(io.StringIO(table.decode(), newline=""), strict=True))
    weights = np.array([np.float32(row["weight"]) for row in rows]).reshape(N_TOKENS, N_TOKENS)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    with np.load(io.BytesIO(arrays)) as pattern:
        np.testing.assert_array_equal(pattern["pattern"], weights)
        assert pattern["key_tokens"].tolist() == [row["key_token"] for row in rows[:N_TOKENS]]


def test_a_saved_page_opens_without_a_network(page: Page, browser: Browser, tmp_path: Path):
    open_heads(page, VIEW)
    open_menu(figure_of(page))
    path = tmp_path / "figure.html"
    path.write_bytes(saved(figure_of(page), "HTML")[1])
    context = browser.new_context(offline=True, viewport={"width": 1300, "height": 500})
    arguments: list[str] = []
    context.on("request", lambda request: arguments.append(request.url))
    alone = context.new_page()
    alone.goto(path.as_uri())
    expect(alone.locator(".gtitle")).to_have_text(title(page).text_content() or "")
    expect(alone.get_by_text("English to French: The cat.")).to_be_visible()
    alone.wait_for_function("() => document.querySelector('.js-plotly-plot')._fullLayout._size.h > 400")
    size = alone.locator(".js-plotly-plot").evaluate("(plot) => plot._fullLayout._size")
    assert size["h"] / size["w"] == pytest.approx(1, abs=0.03)  # even cells
    alone.mouse.move(*cell_at(alone.locator(".js-plotly-plot"), 0, 1, N_TOKENS, N_TOKENS))
    expect(alone.locator(".hoverlayer text")).to_have_text(re.compile(r"query 0 'The' → key 1 'cat': [01]\.\d\d"))
    assert arguments == [path.as_uri()]

    open_heads(page, VIEW.replace("The+cat.", "+".join(["The+cat+sees+the+dog."] * 5)))
    open_menu(figure_of(page))
    path.write_bytes(saved(figure_of(page), "HTML")[1])
    alone.set_viewport_size({"width": 360, "height": 300})
    alone.goto(path.as_uri())
    for side, line in zip(("key", "query"), alone.locator("#legend p").all(), strict=True):
        expect(line).to_have_text(re.compile(f"^{side}.*: 0 The · 1 cat · 2 sees · .* · 30 <eos>$"))
    context.close()


def test_what_is_saved_is_what_is_seen_though_it_changes_under_the_open_menu(page: Page):
    open_heads(page, VIEW)
    figure = figure_of(page)
    tables = []
    for name in ("L0.H0", "L0.H1"):
        page.get_by_role("button", name=f"Encoder self-attention {name}.").click()
        expect(figure.locator(".gtitle")).to_contain_text(name)
        menu = open_menu(figure)
        tables.append(saved(figure, "CSV"))
    page.go_back()
    expect(figure.locator(".gtitle")).to_contain_text("L0.H0")
    expect(menu.get_by_role("button", name="(ZIP)")).to_be_enabled()
    assert saved(figure, "CSV") == tables[0] != tables[1]
    page.keyboard.press("Escape")
    opener = figure.get_by_role("button", name="Save", exact=True)
    expect(menu).to_be_hidden()
    opener.press("Enter")
    expect(figure.get_by_role("radio", name="as shown")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(figure.get_by_role("radio", name="88 mm")).to_be_checked()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()


def test_lines_and_bars_are_saved_as_they_are_seen(page: Page):
    page.goto(f"{VIEW}&as=lines&query=1&key=2")
    expect(page.locator(".lines .key .number").first).to_be_visible()
    page.locator(".st-key-heads-lines-still").get_by_role("button", name="Save").click()
    figure = page.locator(".figure").filter(has=page.get_by_text("Attention as lines"))
    expect(figure.get_by_role("dialog", name="Save this figure").get_by_role("button", name="(ZIP)")).to_be_enabled()
    weights = page.locator(".lines .key .number").all_inner_texts()
    _, text = saved(figure, "SVG", width="88 mm")
    shown = opened(page, text)
    paths = [path.get("d", "") for path in ET.fromstring(text).iter(f"{SVG}path") if "C" in path.get("d", "")]
    assert sum(path.count("C") for path in paths) == len([weight for weight in weights if weight])  # the whole row
    assert [number for label in labels(shown, "y2") for number in label.split()[1:]] == weights
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(figure).to_be_hidden()

    page.goto(f"/heads?attention=encoder&layer=0&head=0&query=8&key=1&text={ANIMAL.replace(' ', '+')}")
    bars = page.locator(".figure").filter(has=page.locator(".barlayer")).first
    bars.scroll_into_view_if_needed()
    open_menu(bars)
    shown = opened(page, saved(bars, "SVG", width="88 mm")[1])
    assert labels(shown, "x") == [*ANIMAL.split(), "<eos>"]
    shown.close()
