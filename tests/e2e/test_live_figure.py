"""Two live figures on a page of their own: choosing a cell, looking closer, pointing at both at once."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Server
from tests.e2e.gate import Gate

pytestmark = pytest.mark.browser

TWO_WINDOWS = """async () => {
    const entries = performance.getEntriesByType("resource");
    const { FIGURES } = await import(entries.find(({ name }) => name.endsWith("/figures/cells.js")).name);
    const { send } = WebSocket.prototype;
    let nSent = 0;
    WebSocket.prototype.send = function (message) { // the second is late: the server has answered the first
        nSent += 1;
        for (const start = performance.now(); nSent === 2 && performance.now() - start < 2000; );
        return send.call(this, message);
    };
    const one = [...FIGURES].find(({ data }) => data.name === "one");
    one.send("window", { queries: [20, 50], keys: [10, 30] });
    const next = new MessageChannel();
    next.port1.onmessage = () => one.send("window", { queries: null, keys: null });
    next.port2.postMessage(null);
}"""


@pytest.fixture
def server_url(gallery: Server) -> str:
    """The components, each on a page of its own."""
    return gallery.url


@pytest.fixture
def figures(page: Page) -> tuple[Locator, Locator]:
    """Both, drawn."""
    page.goto("/figures")
    return figure(page, "one"), figure(page, "two")


def figure(page: Page, name: str) -> Locator:
    """The one of this name, drawn."""
    found = page.locator(".figure").filter(has=page.get_by_role("application", name=name))
    expect(found.locator(".gtitle")).to_be_visible()
    return found


def draw_box(figure: Locator) -> None:
    """Ask for the queries 30 to 50 and the keys 10 to 30."""
    mouse = figure.page.mouse
    mouse.move(*cell(figure, 30, 10))
    mouse.down()
    mouse.move(*cell(figure, 40, 20), steps=4)
    mouse.move(*cell(figure, 50, 30), steps=4)
    mouse.up()


def told(figure: Locator, words: str) -> None:
    """Wait until the server knows."""
    expect(figure.page.locator(".told")).to_have_text(words)


def cell(figure: Locator, query: int, key: int, n: int = 80) -> tuple[float, float]:
    """The middle of a cell, in px of the page."""
    box = figure.locator(".nsewdrag").bounding_box()
    assert box is not None
    return box["x"] + box["width"] * (key + 0.5) / n, box["y"] + box["height"] * (query + 0.5) / n


def words(figure: Locator) -> Locator:
    """What hovering says."""
    return figure.locator(".hoverlayer text")


def test_linked_figures_are_pointed_at_together_and_a_cell_is_chosen_by_pointer_and_keys(
    figures: tuple[Locator, Locator],
):
    one, two = figures
    one.page.mouse.move(*cell(one, 40, 20))
    expect(words(one)).to_have_text("query 40 't40' → key 20 't20': 0.25")
    expect(words(two)).to_have_text("queries 32 to 47 → keys 16 to 31: at most 0.25")
    one.page.mouse.move(*cell(two, 4, 4, 5))
    expect(words(two)).to_have_text("queries 64 to 79 → keys 64 to 79: at most 0.25")
    expect(words(one)).to_have_text("query 64 't64' → key 64 't64': 0.25")
    one.page.mouse.move(5, 5)
    expect(words(one)).to_have_count(0)
    expect(words(two)).to_have_count(0)
    one.page.mouse.click(*cell(one, 40, 10))
    told(one, "cell (40, 10), window None")
    one.page.mouse.click(*cell(one, 40, 10))
    told(one, "cell None, window None")
    one.page.mouse.move(*cell(one, 40, 12))
    one.page.mouse.click(*cell(one, 41, 10))  # at once: plotly still has the cell before under the pointer
    told(one, "cell (41, 10), window None")
    one.page.keyboard.press("Escape")
    told(one, "cell None, window None")
    plot = one.get_by_role("application")
    plot.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        plot.press(key)
    told(one, "cell (1, 1), window None")
    expect(plot).to_be_focused()
    expect(one.page.locator("body > .hl-announced")).to_have_text("query 1 't1' → key 1 't1': 0.25")
    plot.press("ArrowRight")
    expect(one.page.locator("body > .hl-announced")).to_have_text("query 1 't1' → key 2 't2': masked")
    plot.press("Escape")
    told(one, "cell None, window None")


def test_a_box_becomes_a_window_and_the_whole_comes_back_on_a_busy_page_too(figures: tuple[Locator, Locator]):
    one, two = figures
    mouse, whole = one.page.mouse, one.get_by_role("button", name="Show the whole text")
    expect(whole).to_be_hidden()
    for back in (whole.click, lambda: mouse.dblclick(*cell(one, 3, 3, 21))):
        draw_box(one)
        told(one, "cell None, window (range(30, 51), range(10, 31))")
        expect(whole).to_be_visible()
        mouse.move(*cell(one, 5, 2, 21))
        expect(words(one)).to_have_text("query 35 't35' → key 12 't12': 0.25")
        back()
        told(one, "cell None, window None")
        expect(whole).to_be_hidden()
    columns = two.locator(".xtick text")  # of a figure without windows
    n_whole = columns.count()
    mouse.move(*cell(two, 1, 1, 5))
    mouse.down()
    mouse.move(*cell(two, 3, 3, 5), steps=4)
    mouse.up()
    expect(columns).not_to_have_count(n_whole)
    mouse.dblclick(*cell(two, 2, 2, 5))
    expect(columns).to_have_count(n_whole)
    draw_box(one)
    told(one, "cell None, window (range(30, 51), range(10, 31))")
    work = "for (const start = performance.now(); performance.now() - start < 700; );"
    one.page.evaluate(f"addEventListener('mousedown', () => {{ {work} }}, true)")  # longer than plotly waits
    mouse.dblclick(*cell(one, 3, 3, 21))
    told(one, "cell None, window None")


def test_a_double_click_undoes_a_box_that_is_not_answered_yet(page: Page, tmp_path: Path):
    gate = Gate(tmp_path)
    page.goto(f"/figures?gate={gate.path}")
    one = figure(page, "one")
    gate.close()
    draw_box(one)
    told(one, "cell None, window (range(30, 51), range(10, 31))")  # though the figure of it is still to come
    page.mouse.dblclick(*cell(one, 3, 3, 21))
    page.mouse.move(*cell(one, 60, 20))
    expect(words(one)).to_have_text("query 60 't60' → key 20 't20': 0.25")
    gate.open()
    told(one, "cell None, window None")
    expect(one.get_by_role("button", name="Show the whole text")).to_be_hidden()
    expect(one.locator(".ytitle")).to_have_text("query")
    page.mouse.move(*cell(one, 60, 21))
    expect(words(one)).to_have_text("query 60 't60' → key 21 't21': 0.25")


def test_a_figure_that_comes_back_on_a_busy_page_is_still_there(figures: tuple[Locator, Locator]):
    """Else the server names a figure that the browser has just thrown away, and the page stands still for good."""
    one, _ = figures
    draw_box(one)
    told(one, "cell None, window (range(30, 51), range(10, 31))")
    expect(one.get_by_role("button", name="Show the whole text")).to_be_visible()
    one.page.evaluate(TWO_WINDOWS)
    told(one, "cell None, window None")
    expect(one.locator(".ytitle")).to_have_text("query")
    one.page.mouse.move(*cell(one, 60, 20))
    expect(words(one)).to_have_text("query 60 't60' → key 20 't20': 0.25")


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_double_click_opens_a_part_as_one_click_does(page: Page, *, is_answered: bool):
    page.goto("/figures?opens")
    one, two = figure(page, "one"), figure(page, "two")
    mouse = page.mouse
    mouse.move(*cell(two, 1, 1, 5))
    mouse.down()
    mouse.up()
    if is_answered:
        told(one, "cell None, window (range(16, 32), range(16, 32))")
    mouse.down(click_count=2)
    mouse.up(click_count=2)
    told(one, "cell None, window (range(16, 32), range(16, 32))")
    expect(one.locator(".ytitle")).to_have_text("query, 16 to 31")
    mouse.click(*cell(one, 3, 2, 16))
    told(one, "cell (19, 18), window (range(16, 32), range(16, 32))")


def test_a_finger_chooses_a_cell(page: Page):
    touch = page.context.new_cdp_session(page)
    touch.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    page.goto("/figures")
    one = figure(page, "one")
    x, y = cell(one, 40, 10)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    told(one, "cell (40, 10), window None")


def test_the_keyboard_reads_lines_and_hides_them_as_the_legend_does(page: Page):
    page.goto("/figures?lines")
    plot = page.get_by_role("application", name="lines")
    said = page.locator(".hl-announced")
    ring = page.locator(".figure").filter(has=plot).locator(".ring")
    plot.focus()
    plot.press("ArrowRight")
    expect(said).to_have_text("halves: step 0, nats 0.00")
    expect(ring).to_be_visible()
    for key, words in (
        ("ArrowRight", "halves: step 1, nats 0.50"),
        ("End", "halves: step 3, nats 1.50"),
        ("ArrowLeft", "halves: step 2, nats 1.00"),
        ("ArrowDown", "squares: step 2, nats 4.00"),
        ("Home", "squares: step 0, nats 0.00"),
        ("ArrowRight", "squares: step 1, nats 1.00"),
    ):
        plot.press(key)
        expect(said).to_have_text(words)
    where = ring.bounding_box()
    point = page.locator(".figure").filter(has=plot).locator(".scatterlayer .trace").nth(1).locator(".point").nth(1)
    there = point.bounding_box()
    assert where and there
    assert where["x"] + where["width"] / 2 == pytest.approx(there["x"] + there["width"] / 2, abs=2)
    assert where["y"] + where["height"] / 2 == pytest.approx(there["y"] + there["height"] / 2, abs=2)
    plot.press("Enter")
    expect(said).to_have_text("squares, hidden")
    expect(ring).to_be_hidden()
    plot.press("Enter")
    expect(said).to_have_text("squares: step 1, nats 1.00")
    expect(ring).to_be_visible()
    plot.press("Escape")
    expect(ring).to_be_hidden()
