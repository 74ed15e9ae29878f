"""What is seen is taken away: pictures for a paper, numbers, a page that opens offline, and all of it in one file."""

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

from tests.e2e.test_heads import open_heads, title

pytestmark = pytest.mark.browser

VIEW = "/heads?attention=encoder&layer=0&head=0&text=The+cat."
SVG = "{http://www.w3.org/2000/svg}"
MM, PT = 96 / 25.4, 96 / 72  # px
N_TOKENS = 4  # "The", "cat", ".", "<eos>"


BEYOND = """() => {
  const edges = document.querySelector("svg").getBoundingClientRect();
  const isIn = ({ left, right, top, bottom }) => left >= edges.left - 1 && right <= edges.right + 1
    && top >= edges.top - 1 && bottom <= edges.bottom + 1;
  const texts = [...document.querySelectorAll("svg text")];
  return texts.filter((text) => !isIn(text.getBoundingClientRect())).map((text) => text.textContent);
}"""  # what is written beyond a picture's edges


@pytest.fixture
def figure(page: Page) -> Locator:
    """The heatmap of a short text."""
    open_heads(page, VIEW)
    return figure_of(page)


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


def rows_of(table: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.decode(), newline=""), strict=True))


def png_size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def test_a_picture_for_a_paper_is_as_wide_as_asked_and_legible(figure: Locator):
    open_menu(figure)
    for width in (88, 120, 180):  # mm
        name, text = saved(figure, "SVG", width=f"{width} mm")
        assert name.endswith("-encoder-layer0-head0.svg")
        picture = ET.fromstring(text)
        assert picture.tag == f"{SVG}svg"
        assert picture.get("width") == f"{width}mm"
        _, _, wide, high = map(float, picture.get("viewBox", "").split())
        assert wide == pytest.approx(width * MM)
        assert float(picture.get("height", "").removesuffix("mm")) == pytest.approx(high / MM, abs=0.01)
        sizes = [float(size) / PT for size in re.findall(r"font-size: ([\d.]+)px", text.decode())]
        assert sizes and min(sizes) > 6.99 and max(sizes) < 9.01
        shapes = [path for path in picture.iter(f"{SVG}path") if path.get("fill", "").startswith("rgb")]
        assert sum(path.get("d", "").count("M") for path in shapes) == N_TOKENS**2  # a cell each, and no image of them
        assert not [*picture.iter(f"{SVG}image")]

        _, png = saved(figure, "PNG")
        dots = png_size(png)
        assert dots[0] == round(width / 25.4 * 600)
        assert dots[1] / dots[0] == pytest.approx(high / wide, abs=0.001)
        place = png.index(b"pHYs")
        assert struct.unpack(">IIB", png[place + 4 : place + 13]) == (23622, 23622, 1)  # 600 dots an inch, by meters


def test_nothing_in_a_picture_is_cut_off(figure: Locator, new_page: Callable[..., Page]):
    open_menu(figure)
    shown = new_page()
    for width in ("88 mm", "1,600 px", "as shown"):
        _, text = saved(figure, "SVG", width=width)
        shown.set_content(text.decode())
        assert shown.locator("svg text").filter(has_text="Attention pattern").count() == 1
        assert shown.evaluate(BEYOND) == []


def test_each_cell_is_in_a_picture_once_and_where_it_belongs(page: Page):
    open_heads(page, VIEW.replace("encoder", "decoder"))
    figure = figure_of(page)
    cells = figure.evaluate(
        "figure => figure.view.figure.data.filter(({ type }) => type === 'heatmap').map(({ z }) => z)"
    )
    n_rows, n_columns = len(cells[0]), len(cells[0][0])
    n_drawn = [
        [sum(np.isfinite(z[row][column]) for z in cells) for column in range(n_columns)] for row in range(n_rows)
    ]
    assert len(cells) > 1 and n_drawn == [[1] * n_columns] * n_rows, "each cell is a weight or masked"
    open_menu(figure)
    picture = ET.fromstring(saved(figure, "SVG")[1])
    groups = [group for group in picture.iter(f"{SVG}g") if group.get("shape-rendering") == "crispEdges"]
    drawn = [  # of each trace: left and top of each cell, with its color
        {
            (round(float(left), 1), round(float(top), 1)): [
                int(part) for part in re.findall(r"\d+", path.get("fill", ""))
            ]
            for path in group
            for left, top in re.findall(r"M([-\d.]+) ([-\d.]+)H", path.get("d", ""))
        }
        for group in groups
    ]
    lefts, tops = (sorted({cell[axis] for trace in drawn for cell in trace}) for axis in (0, 1))
    assert (len(groups), len(lefts), len(tops)) == (len(cells), n_columns, n_rows)
    for z, trace in zip(cells, drawn, strict=True):
        places = [(row, column) for row, column in np.ndindex(n_rows, n_columns) if np.isfinite(z[row][column])]
        assert sorted(trace) == sorted((lefts[column], tops[row]) for row, column in places)
        places.sort(key=lambda place: z[place[0]][place[1]])
        light = [sum(trace[lefts[column], tops[row]]) for row, column in places]
        assert light == sorted(light, reverse=True), "the larger a weight, the darker is its cell"


def test_a_picture_is_light_whatever_the_page_is(new_page: Callable[..., Page]):
    page = new_page(color_scheme="dark")
    open_heads(page, VIEW)
    figure = figure_of(page)
    open_menu(figure)
    _, text = saved(figure, "SVG", width="1,600 px")
    picture = ET.fromstring(text)
    assert picture.get("width") == "1600"
    ground = picture.find(f"{SVG}rect")
    assert ground is not None and "fill: rgb(255, 255, 255)" in ground.get("style", "")
    assert png_size(saved(figure, "PNG")[1])[0] == 1600


def test_the_numbers_are_the_same_as_table_and_as_arrays(figure: Locator):
    open_menu(figure)
    name, table = saved(figure, "CSV")
    assert name.endswith("-encoder-layer0-head0.csv")
    rows = rows_of(table)
    assert len(rows) == N_TOKENS**2
    weights = np.array([np.float32(row["weight"]) for row in rows]).reshape(N_TOKENS, N_TOKENS)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    name, packed = saved(figure, "NPZ")
    assert name.endswith("-encoder-layer0-head0.npz")
    with np.load(io.BytesIO(packed)) as arrays:
        np.testing.assert_array_equal(arrays["pattern"], weights)
        assert arrays["key_tokens"].tolist() == [row["key_token"] for row in rows[:N_TOKENS]]
        assert arrays["mask"].all()


def test_the_page_opens_without_a_network(figure: Locator, browser: Browser, tmp_path: Path):
    open_menu(figure)
    _, text = saved(figure, "HTML")
    path = tmp_path / "figure.html"
    path.write_bytes(text)
    context = browser.new_context()
    context.set_offline(True)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.locator(".gtitle")).to_have_text(title(figure.page).text_content() or "")
    box = page.locator(".nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 1.5 / N_TOKENS, box["y"] + box["height"] * 0.5 / N_TOKENS)
    expect(page.locator(".hoverlayer text")).to_have_text(re.compile(r"query 0 'The' → key 1 'cat': [01]\.\d\d"))
    assert asked == [path.as_uri()]
    context.close()


def test_a_saved_page_says_what_it_is_of_and_has_even_cells(figure: Locator, new_page: Callable[..., Page]):
    open_menu(figure)
    _, text = saved(figure, "HTML")
    page = new_page(viewport={"width": 1300, "height": 500})
    page.set_content(text.decode())
    expect(page.get_by_text("English to French: The cat.")).to_be_visible()
    expect(page.locator(".gtitle")).to_be_visible()
    page.wait_for_function("() => document.querySelector('.js-plotly-plot')._fullLayout._size.h > 400")
    size = page.locator(".js-plotly-plot").evaluate("(plot) => plot._fullLayout._size")
    assert size["h"] / size["w"] == pytest.approx(1, abs=0.03)


def test_a_saved_page_says_what_the_numbers_along_its_axes_stand_for(page: Page, new_page: Callable[..., Page]):
    open_heads(page, "/heads?attention=encoder&layer=0&head=0&text=" + "+".join(["The+cat+sees+the+dog."] * 5))
    figure = figure_of(page)
    open_menu(figure)
    _, text = saved(figure, "HTML")
    page = new_page(viewport={"width": 360, "height": 300})
    page.set_content(text.decode())
    for side, line in zip(("key", "query"), page.locator("#legend p").all(), strict=True):
        expect(line).to_have_text(re.compile(f"^{side}.*: 0 The · 1 cat · 2 sees · .* · 30 <eos>$"))


def test_what_is_saved_is_what_is_seen_though_it_changes_under_the_open_menu(figure: Locator):
    page = figure.page
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


def test_lines_are_saved_as_they_are_seen(page: Page, new_page: Callable[..., Page]):
    open_heads_as_lines(page, f"{VIEW}&as=lines&query=1&key=2")
    page.locator(".st-key-heads-lines-still").get_by_role("button", name="Save").click()
    figure = page.locator(".figure").filter(has=page.get_by_text("Attention as lines"))
    menu = figure.get_by_role("dialog", name="Save this figure")
    expect(menu).to_be_visible()  # at once
    expect(menu.get_by_role("button", name="(ZIP)")).to_be_enabled()
    weights = page.locator(".lines .key .number").all_inner_texts()
    _, text = saved(figure, "SVG", width="88 mm")
    shown = new_page()
    shown.set_content(text.decode())
    assert shown.evaluate(BEYOND) == []
    paths = [path.get("d", "") for path in ET.fromstring(text).iter(f"{SVG}path") if "C" in path.get("d", "")]
    assert sum(path.count("C") for path in paths) == len([weight for weight in weights if weight])  # the whole row
    labels = [label for label in shown.locator(".y2tick text").all_text_contents() if label]
    assert len(labels) == N_TOKENS and [number for label in labels for number in label.split()[1:]] == weights
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(figure).to_be_visible()  # what lies around the menu stays
    page.keyboard.press("Escape")
    expect(figure).to_be_hidden()


def open_heads_as_lines(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("button.head").first).to_be_visible()
    expect(page.locator(".lines .key .number").first).to_be_visible()


def test_one_file_holds_everything(figure: Locator):
    open_menu(figure)
    name, packed = saved(figure, "ZIP", width="88 mm")
    stem = name.removesuffix(".zip")
    alone = {ending: saved(figure, ending.upper())[1] for ending in ("svg", "png", "csv", "npz")}
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        assert files.testzip() is None
        pictures = {f"{stem}.{ending}" for ending in ("svg", "png", "csv", "npz", "html")}
        assert set(files.namelist()) == pictures | {"redraw.py", "state.json"}
        assert {ending: files.read(f"{stem}.{ending}") for ending in ("csv", "npz")} == {
            ending: alone[ending] for ending in ("csv", "npz")
        }
        assert ET.fromstring(files.read(f"{stem}.svg")).get("width") == "88mm"
        assert png_size(files.read(f"{stem}.png")) == png_size(alone["png"])
        compile(files.read("redraw.py"), "redraw.py", "exec")
        state = json.loads(files.read("state.json"))
    assert re.fullmatch("[0-9a-f]{64}", state["model"]["sha256"])
    assert state["view"]["text"] == "The cat."


def test_the_menu_works_from_the_keyboard(figure: Locator):
    opener = figure.get_by_role("button", name="Save", exact=True)
    opener.focus()
    opener.press("Enter")
    expect(figure.get_by_role("radio", name="as shown")).to_be_focused()
    figure.page.keyboard.press("ArrowRight")
    expect(figure.get_by_role("radio", name="88 mm")).to_be_checked()
    figure.page.keyboard.press("Escape")
    expect(figure.get_by_role("dialog")).to_be_hidden()
    expect(opener).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "false")


def test_cells_are_read_from_the_keyboard(figure: Locator):
    plot = figure.get_by_role("application", name=re.compile("Attention pattern"))
    plot.focus()
    said = figure.page.locator("body > .hl-announced")
    for key, words in (
        ("ArrowDown", "query 0 'The' → key 0 'The'"),
        ("ArrowDown", "query 1 'cat' → key 0 'The'"),
        ("ArrowRight", "query 1 'cat' → key 1 'cat'"),
        ("End", "query 1 'cat' → key 3 '<eos>'"),
        ("ArrowRight", "query 1 'cat' → key 3 '<eos>'"),
        ("ArrowUp", "query 0 'The' → key 3 '<eos>'"),
    ):
        plot.press(key)
        expect(said).to_have_text(re.compile(rf"{re.escape(words)}: [01]\.\d\d"))
        expect(figure.locator(".hoverlayer text")).to_have_text(said.text_content() or "")
    plot.press("Escape")
    expect(figure.locator(".hoverlayer text")).to_have_count(0)
