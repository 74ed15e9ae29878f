"""Every page with every shipped model and odd texts, seen: nothing overlaps, is cut off, or says other numbers.

On a projector (1024 x 768) and on a laptop (1440 x 900) every page has its figure in sight.
"""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from pages.shared.page import pages
from pages.shared.view import visits
from tests.e2e.browser import ROOT, Server
from tests.e2e.looking import faults, open_address, see_canvases, type_text, view_of, wait
from tests.e2e.shown import wrong

pytestmark = pytest.mark.browser

MODELS = ("en-fr", "dates", "stories", "induction", "fill-in")
LONG = (
    "One day the small old man saw the big black cat near the long wide river, and then they both went home because "
    "it was late and too dark to see."
)
TEXTS = (  # one after another; the first two give figures of one size, in which only the words change
    ("The cat sees the dog.", "The dog sees the cat."),
    ("moon",),
    ("He said: 👩‍👩‍👧 42 <b>7/11/1999</b> & “ça” …",),
    ("القطة لم تعبر الشارع",),
)
BLOCKS = [f"block={block}&show=text" for block in ("decoder.embed", "decoder.1.self_attn", "decoder.1.mlp", "unembed")]
PARTS = {  # what else a page can show of a text
    "steps": [f"stage={stage}" for stage in ("scores", "softmax", "z", "norm_1", "feed_forward")],
    "masks": [f"part={part}" for part in ("which", "inference", "leak", "dropout", "training")],
    "positions": [
        *(f"part={part}" for part in ("table", "waves", "products", "shift", "model", "model&in=shuffle", "retrain")),
        *("encoding=rotary_halves&part=dials", "encoding=alibi", "encoding=relative_buckets", "encoding=learned"),
    ],
    "architecture": [
        *("part=parameters", "part=parameters&sharing=none", "part=cost", "part=stream", "src=4.48&tgt=4.300"),
        *("show=weights", "show=text", "show=code", *BLOCKS),
    ],
    "heads": ["as=lines", "measure=entropy", "across=rollout", "query=1&key=0"],
    "decoding": [f"part={part}" for part in ("alignment", "tree", "beams", "cache", "led")],
    "compare": [f"view={view}" for view in ("changed", "effect", "map", "layers", "texts")],
}
LOWER = {  # parts that begin with a claim, with numbers, or with what is to be chosen
    "masks": {"part=inference", "part=leak", "part=training"},
    "positions": {
        *("part=waves", "part=shift", "part=model&in=shuffle", "part=retrain"),
        *("encoding=alibi", "encoding=relative_buckets", "encoding=learned"),
    },
    "architecture": {"part=parameters", "part=parameters&sharing=none"},
    "compare": {"view=changed", "view=effect", "view=map", "view=texts"},
}
OPENED = {"positions": "&part=model", "architecture": "&show=text"}  # so that it shows something of the text
HELD = {  # the figures of a page that are held to a capture; one of them at least is there
    "steps": {"steps"},
    "masks": {"masks"},
    "positions": {"positions-figure-sources"},
    "architecture": {"architecture-activation"},
    "heads": {"heatmap"},
    "decoding": {"candidates", "blanks-bars"},
    "compare": {"compare-difference", "compare-own-A"},
}
PROJECTOR, LAPTOP = {"width": 1024, "height": 768}, {"width": 1440, "height": 900}
TOP = {1024: 240, 1440: 300}  # px, at most, from the top of a window of this width to the figure
COMPONENT = '[data-testid="stMain"] [data-testid^="stBidiComponent"], .hl-blanks-text'
FIGURE = {  # of pages whose figure is no component: what they show
    "train": ".st-key-run-curves",
    "models": ".st-key-hl-models-list",
    "glossary": "[class*='st-key-hl-glossary-topic-']",
    "server": ".st-key-hl-server [data-testid='stDataFrame']",
}
TOP_OF = """selector => Math.min(...[...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect())
  .filter(({ height, width }) => height > 60 && width > 100).map(({ y }) => y))"""
WITH_CELLS = {"heads", "compare"}  # pages with a map of tokens, of which a cell can be chosen


@pytest.fixture(scope="module")
def server(server_with_run: Server) -> Server:
    """The app with the models that it comes with, and one training."""
    return server_with_run


@pytest.fixture
def returning(new_page: Callable[..., Page], server: Server) -> Callable[..., Page]:
    """Opens a page for somebody who was on every page before: introductions are folded."""

    def open_page(**options: Any) -> Page:
        page = see_canvases(new_page(**options))
        page.context.add_cookies([{"name": visits.COOKIE, "value": ".".join(pages()), "url": server.url}])
        return page

    return open_page


@pytest.mark.parametrize("model", MODELS)
def test_odd_texts(model: str, returning: Callable[..., Page]):
    """Each page with each model and the long text; and with others, so that each page has each, and each model, too."""
    page = returning(viewport=LAPTOP)
    seen = {}
    for place, address in enumerate(PARTS, MODELS.index(model)):
        open_address(page, f"{address}?model={model}{OPENED.get(address, '')}")
        seen[f"{address}, as it opens"] = [*faults(page), *low(page)]
        for text in (*TEXTS[place % len(TEXTS)], LONG):
            type_text(page, text)
            checked, apart = wrong(page, model)
            is_held = bool(checked & HELD[address]) or not model_says_something(page)
            seen[f"{address}: {text}"] = [
                *faults(page),
                *apart,
                *([] if is_held else ["nothing was held to a capture"]),
            ]
            if text == LONG and address in WITH_CELLS:
                seen[f"{address}, a chosen cell"] = chosen(page, model)
            elif text == LONG and address == "masks":
                seen["masks, a cell pointed at"] = pointed(page)
    assert not any(seen.values()), _in_words(seen)


def model_says_something(page: Page) -> bool:
    """Whether there is something to see: a masked model has nothing to fill in where a text has no blank."""
    return not page.locator(".hl-note", has_text="blank").count()


def chosen(page: Page, model: str) -> list[str]:
    """Choose a cell of the map and return what is wrong then: its two labels are there, whatever has no room."""
    cells = page.locator(".js-plotly-plot .nsewdrag").first
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.31 * box["width"], box["y"] + 0.83 * box["height"])
    page.mouse.move(0, 0)  # the hover text of a cell covers labels
    expect(page).to_have_url(re.compile("[?&](query|cell)="))
    wait(page)
    return [*faults(page), *wrong(page, model)[1]]


def pointed(page: Page) -> list[str]:
    """Point at a cell of the mask and return what is wrong then: its two labels are beside all three pictures."""
    canvas = page.locator(".mask_matrix .mask canvas")
    canvas.scroll_into_view_if_needed()
    place = canvas.evaluate(CELL_OF_MASK)
    page.mouse.move(place["x"], place["y"])
    page.wait_for_function(POINTED, arg=canvas.element_handle())
    lacking: list[str] = canvas.evaluate(LACKING_LABELS)
    return [*faults(page), *(f"no label “{label}” while it is pointed at" for label in lacking)]


CELL_OF_MASK = """(canvas) => {
  const { grid } = canvas.getRootNode().querySelector(".mask_matrix").view.pictures.mask;
  const { x, y } = canvas.getBoundingClientRect();
  const at = (start, n) => start + (Math.floor(n * 0.7) + 0.5) * grid.pitch;
  return { x: x + at(grid.left, grid.columns), y: y + at(grid.top, grid.rows) };
}"""
POINTED = "(canvas) => canvas.getRootNode().querySelector('.mask_matrix').view.pointed?.row > 0"
LACKING_LABELS = """(canvas) => {
  const { pictures, pointed, header } = canvas.getRootNode().querySelector(".mask_matrix").view;
  const isOf = (words, label) => words === label || (words.endsWith("…") && label.startsWith(words.slice(0, -1)));
  return Object.values(pictures).flatMap(({ canvas: { drawnTexts } }) =>
    [header.query[pointed.row], header.key[pointed.column]].filter(
      (label) => !drawnTexts.some(({ words }) => isOf(words, label)),
    ),
  );
}"""


@pytest.mark.parametrize("model", ["en-fr", "stories"])
def test_every_part_of_a_page(model: str, returning: Callable[..., Page]):
    """On a projector, in the dark."""
    page = returning(viewport=PROJECTOR, color_scheme="dark")
    seen = {}
    for address, parts in PARTS.items():
        for part in ("", *parts):
            open_address(page, f"{address}?model={model}&{part}")
            is_lower = part in LOWER.get(address, ())
            seen[f"{address}, {part}"] = [*faults(page), *wrong(page, model)[1], *([] if is_lower else low(page))]
    assert not any(seen.values()), _in_words(seen)


def low(page: Page) -> list[str]:
    """Return what is wrong where the figure of a page begins too low in the window."""
    selector = FIGURE.get(urlsplit(page.url).path.strip("/"), COMPONENT)
    most = TOP[page.viewport_size["width"]]  # type: ignore[index]
    try:
        page.wait_for_function(
            f"([selector, most]) => ({TOP_OF})(selector) <= most", arg=[selector, most], timeout=5_000
        )
    except TimeoutError:
        return [f"its figure begins at {page.evaluate(TOP_OF, selector)} px, not within {most}"]
    return []


def test_the_papers_base_model_on_the_pages_of_sizes(page: Page):
    seen = {}
    for address in ("steps", "architecture"):
        open_address(see_canvases(page), f"{address}?model=paper-base")
        assert view_of(page)["model"] == "paper-base"
        seen[address] = faults(page)
    assert not any(seen.values()), _in_words(seen)


@pytest.mark.parametrize("size", [LAPTOP, PROJECTOR], ids=["laptop", "projector"])
def test_pages_without_a_text(size: dict[str, int], returning: Callable[..., Page]):
    page = returning(viewport=size)
    chapters = [
        f"tour?lesson={path.stem.partition('-')[2]}"
        for path in sorted((ROOT / "pages/learn/tour/lessons/en").glob("*.md"))
    ]
    seen = {}
    for address in (*chapters, "glossary", "train?run=first", "train?run=", "film", "models", "server"):
        open_address(page, address)
        begins_with_words = address in (*chapters[1:], "train?run=")  # or with a form
        seen[address] = [*faults(page), *(() if begins_with_words else low(page))]
        assert "There are no lessons" not in page.inner_text("body"), address
        if address in chapters and size == PROJECTOR:
            seen[f"{address}, answered"] = answered(page)
        elif address == "train?run=":
            page.get_by_text("Windows and batch").click()
            wait(page)
            seen["train, windows and batch"] = faults(page)
        elif address == "models":
            for tab in page.get_by_role("tab").all():
                tab.click()
                wait(page)
                seen[f"models, {tab.inner_text()}"] = faults(page)
    assert not any(seen.values()), _in_words(seen)


def answered(page: Page) -> list[str]:
    """Ask for the answer of each question of a chapter, and return what is wrong then."""
    reveal, again = (page.get_by_role("button", name=name) for name in ("Reveal answer", "Try again"))
    while reveal.count():  # an answer may lead to another question
        n_answered = again.count()
        reveal.first.click()
        expect(again).to_have_count(n_answered + 1)
        wait(page)
    return faults(page)


def _in_words(seen: dict[str, list[str]]) -> str:
    return "\n".join(f"{what!r}: {fault}" for what, found in seen.items() for fault in found[:6])


def test_the_name_stands_above_the_navigation(page: Page):
    page.goto("/models")
    link = page.get_by_test_id("stSidebarNavLink").first
    expect(link).to_be_visible()
    header = page.get_by_test_id("stSidebarHeader")
    assert header.evaluate("node => getComputedStyle(node, '::before').content") == '"Headlight"'
    above, below = header.bounding_box(), link.bounding_box()
    assert above and below and above["y"] + above["height"] <= below["y"]


def test_a_block_of_the_architecture_shows_its_panel_where_that_lies_below(new_page: Callable[..., Page]):
    page = new_page(viewport=PROJECTOR)
    page.goto("/architecture")
    wait(page)
    panel = page.locator(".st-key-hl-arch-block")
    expect(panel).not_to_be_in_viewport()
    page.locator(".st-key-architecture-drawing [data-box='unembed']").press("Enter")
    expect(panel).to_be_in_viewport(ratio=0.3)
    wait(page)
    expect(panel).to_be_in_viewport(ratio=0.3)
