"""Every page in its many states, looked at: nothing overlaps, is cut off or lacks a label, and axe finds no barrier.

On a projector (1024 x 768, dark) and on a laptop (1440 x 900, light) every page has its figure in sight.
"""

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from pages.learn.tour.lessons import SHIPPED as LESSONS
from pages.shared.page import pages
from tests.e2e.browser import ROOT
from tests.e2e.conftest import LAPTOP, PHONE, PROJECTOR, some_of
from tests.e2e.looking import faults, missing_labels, open_address, see_canvases, type_text, wait

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
LONG = (
    "One day the small old man saw the big black cat near the long wide river, and then they both went home because "
    "it was late and too dark to see."
)
TEXTS = {  # by the model that reads them
    "en-fr": "He said: 👩‍👩‍👧 42 <b>7/11/1999</b> & “ça” …",
    "dates": "moon",
    "stories": LONG,
    "induction": "القطة لم تعبر الشارع",
    "fill-in": LONG.replace("cat", "____"),
}
OF_A_TEXT = {  # pages of a text, with what shows something of it
    "steps": "",
    "masks": "",
    "positions": "part=model",
    "architecture": "show=text",
    "heads": "",
    "decoding": "",
    "compare": "",
}
BLOCKS = [f"block={block}&show=text" for block in ("decoder.embed", "decoder.1.self_attn", "decoder.1.mlp", "unembed")]
OF_STORIES = {"block=decoder.1.mlp&show=text", "encoding=rotary_halves&part=dials", "view=layers", "stage=norm_1"}
STATES = {  # of each page, beside the one that it opens with
    "start": ["zoom=decoder.1&model=stories", "zoom=decoder.0.cross_attn&model=dates"],
    "steps": [f"stage={stage}" for stage in ("scores", "softmax", "z", "norm_1", "feed_forward")]
    + ["model=paper-base"],
    "masks": [f"part={part}" for part in ("which", "leak", "dropout", "training")],
    "positions": [
        *(f"part={part}" for part in ("waves", "products", "shift", "model", "model&in=shuffle", "retrain")),
        *("encoding=rotary_halves&part=dials", "encoding=alibi", "encoding=relative_buckets", "encoding=learned"),
    ],
    "architecture": [
        *("part=parameters", "part=parameters&sharing=none", "part=cost", "part=stream", "src=4.48&tgt=4.300"),
        *("show=weights", "show=code", *BLOCKS, "model=paper-base"),
    ],
    "programs": ["program=reverse", "program=addition"],
    "heads": ["as=lines", "measure=entropy", "across=rollout", "query=1&key=0"],
    "decoding": [*(f"part={part}" for part in ("alignment", "tree", "beams", "cache", "led")), "model=fill-in"],
    "compare": [f"view={view}" for view in ("changed", "effect", "map", "layers", "texts")],
    "interventions": ["add=cells&view=numbers", "add=patch&view=sweep", "add=patch&view=source"],
    "train": ["run=first"],
    "film": ["run=first"],
}
WITH_BARRIERS = {  # the states that axe looks at, too, for a release: with components that the page does not open with
    *("encoding=rotary_halves&part=dials", "part=which", "show=code", "as=lines", "run=first"),
    *("add=cells&view=numbers", "add=patch&view=sweep", "add=patch&view=source", "part=beams", "part=led"),
    "model=fill-in",
}
FORMS = {"train": "run="}  # what a page opens with here, whatever other tests have trained
LOWER = {  # what begins with a claim, with numbers, or with what is to be chosen
    "masks": {"part=leak", "part=training"},
    "positions": {
        *("part=waves", "part=shift", "part=model&in=shuffle", "part=retrain"),
        *("encoding=alibi", "encoding=relative_buckets", "encoding=learned"),
    },
    "architecture": {"part=parameters", "part=parameters&sharing=none"},
    "compare": {"view=changed", "view=effect", "view=map", "view=texts"},
    "train": {"run="},
}
WITHOUT_FIGURE = {"build", "programs", "interventions", "start"}
TOP = {1024: 240, 1440: 300}  # px, at most, from the top of a window of this width to the figure
COMPONENT = '[data-testid="stMain"] [data-testid^="stBidiComponent"], .hl-blanks-text'
FIGURE = {  # of pages whose figure is no component: what they show
    "train": ".st-key-run-curves",
    "models": ".st-key-hl-models-list",
    "glossary": ".hl-glossary-topic",
    "server": ".st-key-hl-server [data-testid='stDataFrame']",
}
TOP_OF = """selector => Math.min(...[...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect())
  .filter(({ height, width }) => height > 60 && width > 100).map(({ y }) => y))"""
OF_STREAMLIT = {  # what only Streamlit can mend, by axe's rules
    # The navigation is one list of sections, each a div that holds the items.
    "list": '[data-testid="stSidebarNavItems"]',
    "listitem": '[data-testid="stSidebarNavItems"] li',
    # Code that is longer than its box scrolls without a tabindex; Chromium lets the keyboard scroll it all the same.
    "scrollable-region-focusable": '[data-testid="stCode"] pre',
}
FIND = """async ([ofStreamlit, onlyColors]) => {
  const { violations } = await axe.run(document, {
    resultTypes: ["violations"],
    elementRef: true,
    ...(onlyColors ? { runOnly: ["color-contrast"] } : {}),
  });
  return violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).flatMap(({ id, nodes }) =>
    nodes.filter(({ element }) => !(ofStreamlit[id] && element.matches(ofStreamlit[id]))).map(
      ({ target, any, all, none }) =>
        `${id}: ${target.flat().at(-1)}: ${[...any, ...all, ...none].map(({ message }) => message).join("; ")}`,
    ),
  );
}"""
WATCH = """
const { addEventListener } = EventTarget.prototype;
window.pressable = new Set();
EventTarget.prototype.addEventListener = function (kind, ...rest) {
  if (this instanceof Element && ["click", "mousedown", "pointerdown"].includes(kind)) window.pressable.add(this);
  return addEventListener.call(this, kind, ...rest);
};"""
OUT_OF_REACH = """() => {
  const stop = "a[href], button, input, select, summary, [tabindex]";
  const isStop = (one) => one.matches(stop) && one.tabIndex >= 0;
  const isReached = (one, root) => {
    const places = [one, one.closest(stop)].filter(Boolean);
    const alike = places.flatMap(({ classList: [name] }) => (name ? [...root.querySelectorAll(`.${name}`)] : []));
    return [...places, ...alike, ...one.querySelectorAll(stop)].some(isStop); // the focus roves over what is alike
  };
  return [...window.pressable].filter((one) => one.isConnected).flatMap((one) => {
    const root = one.closest('[data-testid^="stBidiComponent"]') ?? one.getRootNode();
    const isOurs = root instanceof ShadowRoot || root !== document;
    const isCurves = one.closest('.js-plotly-plot[role="img"]'); // plotly's own: its hover words, and hiding a curve
    const isMark = one.matches(".mark"); // of a film: hidden from who does not see it, for the page lists the same
    if (!isOurs || isCurves || isMark || isReached(one, root)) return [];
    return [`.${one.getAttribute("class")} is reached by a pointer alone`];
  });
}"""
CHAPTERS = [path.stem.partition("-")[2] for path in sorted((LESSONS / "en").glob("*.md"))]
ATTENTIONS = {  # where Start is zoomed to an attention of each model
    "en-fr": "decoder.1.cross_attn",
    "dates": "decoder.0.cross_attn",
    "stories": "decoder.3.self_attn",
    "induction": "decoder.1.self_attn",
    "fill-in": "encoder.1.self_attn",
}

Seen = dict[str, list[str]]


def looked(page: Page) -> list[str]:
    """What is wrong with the look of a page."""
    return [*faults(page), *missing_labels(page), *page.locator("[data-testid=stException]").all_inner_texts()]


def low(page: Page) -> list[str]:
    """What is wrong if the figure of a page begins too low in the window."""
    selector = FIGURE.get(urlsplit(page.url).path.strip("/"), COMPONENT)
    assert page.viewport_size
    most = TOP[page.viewport_size["width"]]
    try:
        page.wait_for_function(
            f"([selector, most]) => ({TOP_OF})(selector) <= most", arg=[selector, most], timeout=5_000
        )
    except TimeoutError:
        return [f"its figure begins at {page.evaluate(TOP_OF, selector)} px, not within {most}"]
    return []


def barriers(page: Page, *, only_colors: bool = False) -> list[str]:
    """What keeps people out: by axe, and what only a pointer reaches."""
    results: list[str] = page.evaluate(FIND, [OF_STREAMLIT, only_colors])
    return [*results, *out_of_reach(page)]


def out_of_reach(page: Page) -> list[str]:
    """What only a pointer reaches."""
    results: list[str] = page.evaluate(OUT_OF_REACH)
    return results


def with_axe(page: Page) -> Page:
    page.add_init_script(path=AXE)
    page.add_init_script(WATCH)
    return see_canvases(page)


def in_words(seen: Seen) -> str:
    return "\n".join(f"{state!r}: {fault}" for state, actual in seen.items() for fault in actual[:6])


@pytest.mark.parametrize("address", pages())
def test_every_state_of_a_page(address: str, new_page: Callable[..., Page], request: pytest.FixtureRequest):
    """All of them where tests are full; else every fourth one."""
    is_full = request.config.getoption("full")
    states = STATES.get(address, [])[:: 1 if is_full else 4]
    page = with_axe(new_page(viewport=PROJECTOR, color_scheme="dark"))
    seen: Seen = {}
    for state in (FORMS.get(address, ""), *states):
        model = "&model=stories" if state in OF_STORIES else ""
        open_address(page, f"{address}?{state}{model}")
        begins_lower = address in WITHOUT_FIGURE or state in LOWER.get(address, ())
        seen[state] = [*looked(page), *([] if begins_lower else low(page))]
        if not state or (is_full and state in WITH_BARRIERS):
            seen[state] += barriers(page)
        else:
            seen[state] += out_of_reach(page)
        for more in opened(page, address, state):
            seen[f"{state}, {more}"] = looked(page)
    assert not any(seen.values()), in_words(seen)


def opened(page: Page, address: str, state: str) -> Iterator[str]:
    """Open what a page folds, one after another, and say what it is."""
    if (address, state) == ("train", "run="):
        page.get_by_text("Windows and batch").click()
        wait(page)
        yield "windows and batch"
    elif address == "models":
        for tab in page.get_by_role("tab").all():
            tab.click()
            wait(page)
            yield tab.inner_text()
    elif address == "masks" and not state:
        canvas = page.locator(".mask_matrix .mask canvas")
        canvas.scroll_into_view_if_needed()
        at = canvas.evaluate(CELL_OF_MASK)
        page.mouse.move(at["x"], at["y"])
        page.wait_for_function(POINTED, arg=canvas.element_handle())
        assert canvas.evaluate(LACKING_LABELS) == []
        yield "a cell is pointed at"


CELL_OF_MASK = """(canvas) => {
  const { grid } = canvas.getRootNode().querySelector(".mask_matrix").view.pictures.mask;
  const { x, y } = canvas.getBoundingClientRect();
  const at = (start, n) => start + (Math.floor(n * 0.7) + 0.5) * grid.pitch;
  return { x: x + at(grid.left, grid.columns), y: y + at(grid.top, grid.rows) };
}"""
POINTED = "(canvas) => canvas.getRootNode().querySelector('.mask_matrix').view.pointed?.row > 0"
LACKING_LABELS = """(canvas) => { // of the cell that is pointed at, beside any of the three pictures
  const { pictures, pointed, header } = canvas.getRootNode().querySelector(".mask_matrix").view;
  const isOf = (words, label) => words === label || (words.endsWith("…") && label.startsWith(words.slice(0, -1)));
  return Object.values(pictures).flatMap(({ canvas: { drawnTexts } }) =>
    [header.query[pointed.row], header.key[pointed.column]].filter(
      (label) => !drawnTexts.some(({ words }) => isOf(words, label)),
    ),
  );
}"""


@pytest.mark.parametrize("model", some_of(TEXTS, "en-fr", "dates"))
def test_odd_texts(model: str, new_page: Callable[..., Page]):
    """On every other page of a text, so that two models see them all; with a cell chosen, its two labels are there."""
    page = with_axe(new_page())
    seen: Seen = {}
    place = [*TEXTS].index(model)
    for address, state in [*OF_A_TEXT.items()][place % 2 :: 2]:
        open_address(page, f"{address}?model={model}&{state}")
        seen[address] = [*looked(page), *low(page)]
        if place < 2:
            seen[address] += barriers(page, only_colors=True)
        type_text(page, TEXTS[model])
        seen[f"{address}, with the text"] = looked(page)
        if model == "stories" and address == "heads":
            cells = page.locator(".js-plotly-plot .nsewdrag").first
            cells.scroll_into_view_if_needed()
            box = cells.bounding_box()
            assert box
            page.mouse.click(box["x"] + 0.31 * box["width"], box["y"] + 0.83 * box["height"])
            page.mouse.move(0, 0)  # the hover text of a cell covers labels
            expect(page).to_have_url(re.compile("[?&]query="))
            wait(page)
            seen["heads, a chosen cell"] = looked(page)
    assert not any(seen.values()), in_words(seen)


@pytest.mark.full
def test_pages_without_a_text_on_a_laptop(new_page: Callable[..., Page]):
    page = with_axe(new_page())
    seen: Seen = {}
    for address in (f"tour?lesson={CHAPTERS[0]}", "glossary", "train?run=first", "film?run=first", "models", "server"):
        open_address(page, address)
        seen[address] = [*looked(page), *low(page), *barriers(page, only_colors=True)]
    assert not any(seen.values()), in_words(seen)


@pytest.mark.parametrize("sixth", some_of(range(6), 0))
def test_chapters_of_the_tour_with_all_questions_answered(sixth: int, new_page: Callable[..., Page]):
    page = see_canvases(new_page(viewport=PROJECTOR))
    seen: Seen = {}
    for chapter in CHAPTERS[sixth::6]:
        open_address(page, f"tour?lesson={chapter}")
        reveal, again = (page.get_by_role("button", name=name) for name in ("Reveal answer", "Try again"))
        while reveal.count():  # an answer may lead to another question
            n_answered = again.count()
            reveal.first.click()
            expect(again).to_have_count(n_answered + 1)
            wait(page)
        seen[chapter] = looked(page)
    assert not any(seen.values()), in_words(seen)


@pytest.mark.parametrize("model", some_of(ATTENTIONS, "en-fr"))
def test_zoom_levels_of_start_on_three_sizes(model: str, new_page: Callable[..., Page]):
    page = new_page()
    attention = ATTENTIONS[model]
    block, _, _ = attention.rpartition(".")
    seen: Seen = {}
    for zoom in ("", block, attention) if model == "en-fr" else ("", attention):
        open_address(page, f"start?model={model}&zoom={zoom}")
        expect(page.locator(".crumb")).to_have_count(len(zoom.split(".")) if zoom else 1)
        expect(page.locator(".stage .picture").first).to_be_visible()
        for size in (LAPTOP, PROJECTOR, PHONE):
            page.set_viewport_size(size)
            wait(page)
            is_scrolled = size == PHONE or (size == PROJECTOR and (model, zoom) == ("stories", ""))  # four blocks
            if not is_scrolled:
                assert page.locator(".strip").evaluate_all(HIDDEN) == 0, zoom
            seen[f"{zoom} on {size}"] = faults(page)
    assert not any(seen.values()), in_words(seen)


HIDDEN = "(strips) => Math.max(...strips.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))"  # px
