"""Two live figures on a page of their own: choosing a cell, looking closer, pointing at both at once."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import ROOT, Server, serve
from tests.e2e.gate import Gate

pytestmark = pytest.mark.browser

APP = """\
from pathlib import Path

import streamlit as st

from pages.shared import server

app = st.App(Path(__file__).with_name("page.py"), middleware=server.MIDDLEWARE, routes=server.ROUTES)
"""
PAGE = """\
import numpy as np
import streamlit as st

from pages.shared.components import figures
from tests.e2e.gate import wait_at
from transformer_core.figures import attention_heatmap

N = 80  # more cells than are sent with their words
ONE_BLOCK = 16
tokens = [f"t{place}" for place in range(N)]
pattern = np.tril(np.full((N, N), 0.25, dtype=np.float32))
mask = np.tril(np.ones((N, N), dtype=bool))
state = st.session_state
state.setdefault("cell", None)
state.setdefault("window", None)


def on_cell():
    state.cell = figures.sent_cell("one")


def on_window():
    state.window = figures.sent_window("one")


def on_part():
    state.window = figures.sent_window("two")


opens = "opens" in st.query_params  # whether the second leads to its parts
queries, keys = state.window or (range(N), range(N))
seen = np.s_[queries.start : queries.stop, keys.start : keys.stop]
labels = tokens[queries.start : queries.stop], tokens[keys.start : keys.stop]
first = {"first_query": queries.start, "first_key": keys.start}
one = attention_heatmap(pattern[seen], *labels, mask=mask[seen], title="one", **first)
blocks = pattern.reshape(N // ONE_BLOCK, ONE_BLOCK, -1, ONE_BLOCK).max(axis=(1, 3))
two = attention_heatmap(blocks, tokens, tokens, title="two", blocks=(N, N))
st.html(f"<p class='told'>cell {state.cell}, window {state.window}</p><style>:root {{--hl-stage: 420px}}</style>")
wait_at(st.query_params.get("gate"))
left, right = st.columns(2)
with left:
    figures.live_figure(
        one, name="one", key="one", cell=state.cell, on_cell=on_cell, on_window=on_window,
        is_window=state.window is not None, link="pair",
    )
with right:
    figures.live_figure(
        two, name="two", key="two", on_window=on_part if opens else None, is_window=opens and state.window is not None,
        link="pair",
    )
"""

TWO_WINDOWS = """() => {
    const { send } = WebSocket.prototype;
    let nSent = 0;
    WebSocket.prototype.send = function (message) { // the second is late: the server has answered the first
        nSent += 1;
        for (const start = performance.now(); nSent === 2 && performance.now() - start < 2000; );
        return send.call(this, message);
    };
    const one = [...window.headlightFigures].find(({ data }) => data.name === "one");
    one.send("window", { queries: [20, 50], keys: [10, 30] });
    const next = new MessageChannel();
    next.port1.onmessage = () => one.send("window", { queries: null, keys: null });
    next.port2.postMessage(null);
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The page above."""
    folder = tmp_path_factory.mktemp("app")
    for name, text in {"app.py": APP, "page.py": PAGE}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        with serve((sys.executable, "-m", "streamlit", "run", str(Path(folder, "app.py")))) as server:
            yield server


@pytest.fixture
def figures(page: Page) -> tuple[Locator, Locator]:
    """Both, drawn."""
    page.goto("/")
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


def test_a_cell_is_chosen_and_let_go(figures: tuple[Locator, Locator]):
    one, _ = figures
    one.page.mouse.click(*cell(one, 40, 10))
    told(one, "cell (40, 10), window None")
    one.page.mouse.click(*cell(one, 40, 10))
    told(one, "cell None, window None")
    one.page.mouse.move(*cell(one, 40, 12))
    one.page.mouse.click(*cell(one, 41, 10))  # at once: plotly still has the cell before under the pointer
    told(one, "cell (41, 10), window None")
    one.page.keyboard.press("Escape")
    told(one, "cell None, window None")


def test_the_keyboard_chooses_a_cell_and_goes_on_from_it(figures: tuple[Locator, Locator]):
    one, _ = figures
    plot = one.get_by_role("application")
    plot.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        plot.press(key)
    told(one, "cell (1, 1), window None")
    expect(plot).to_be_focused()
    expect(one.locator(".said")).to_have_text("query 1 't1' → key 1 't1': 0.25")
    plot.press("ArrowRight")
    expect(one.locator(".said")).to_have_text("query 1 't1' → key 2 't2': not allowed by the mask")
    plot.press("Escape")
    told(one, "cell None, window None")


def test_a_box_becomes_a_window_and_the_whole_text_comes_back(figures: tuple[Locator, Locator]):
    one, _ = figures
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


def test_a_double_click_is_one_while_the_page_is_busy(figures: tuple[Locator, Locator]):
    one, _ = figures
    mouse = one.page.mouse
    draw_box(one)
    told(one, "cell None, window (range(30, 51), range(10, 31))")
    work = "for (const start = performance.now(); performance.now() - start < 700; );"
    one.page.evaluate(f"addEventListener('mousedown', () => {{ {work} }}, true)")  # longer than plotly waits
    mouse.dblclick(*cell(one, 3, 3, 21))
    told(one, "cell None, window None")


def test_a_double_click_undoes_a_box_that_is_not_answered_yet(page: Page, tmp_path: Path):
    gate = Gate(tmp_path)
    page.goto(f"/?gate={gate.path}")
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


def test_a_double_click_shows_the_whole_of_a_figure_without_windows(figures: tuple[Locator, Locator]):
    _, two = figures
    mouse, columns = two.page.mouse, two.locator(".xtick text")
    n_whole = columns.count()
    mouse.move(*cell(two, 1, 1, 5))
    mouse.down()
    mouse.move(*cell(two, 3, 3, 5), steps=4)
    mouse.up()
    expect(columns).not_to_have_count(n_whole)
    mouse.dblclick(*cell(two, 2, 2, 5))
    expect(columns).to_have_count(n_whole)


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_double_click_opens_a_part_as_one_click_does(page: Page, *, is_answered: bool):
    page.goto("/?opens")
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


def test_a_finger_chooses_a_cell(new_page: Callable[..., Page]):
    page = new_page(has_touch=True)
    page.goto("/")
    one = figure(page, "one")
    page.touchscreen.tap(*cell(one, 40, 10))
    told(one, "cell (40, 10), window None")


def test_figures_of_one_link_are_pointed_at_together(figures: tuple[Locator, Locator]):
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
