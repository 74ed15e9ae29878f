"""Every page with every shipped model and odd texts, seen: nothing overlaps, is cut off, or says other numbers."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import ROOT
from tests.e2e.looking import faults, open_address, see_canvases, type_text, view_of, wait
from tests.e2e.shown import wrong

pytestmark = pytest.mark.browser

MODELS = ("en-fr", "dates", "stories", "induction", "fill-in")
LONG = (
    "One day the small old man saw the big black cat near the long wide river, and then they both went home because "
    "it was late and too dark to see."
)
TEXTS = (  # the first two give figures of one size, in which only the words change
    "The cat sees the dog.",
    "The dog sees the cat.",
    "moon",
    LONG,
    "He said: 👩‍👩‍👧 42 <b>7/11/1999</b> & “ça” …",
    "القطة لم تعبر الشارع",
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
WITH_CELLS = {"heads", "compare"}  # pages with a map of tokens, of which a cell can be chosen


@pytest.mark.parametrize("model", MODELS)
def test_odd_texts(model: str, page: Page):
    see_canvases(page)
    seen = {}
    for address in PARTS:
        open_address(page, f"{address}?model={model}{OPENED.get(address, '')}")
        seen[f"{address}, as it opens"] = faults(page)
        for text in TEXTS:
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
def test_every_part_of_a_page(model: str, new_page: Callable[..., Page]):
    """On a small screen, in the dark."""
    page = see_canvases(new_page(viewport={"width": 1024, "height": 768}, color_scheme="dark"))
    seen = {}
    for address, parts in PARTS.items():
        for part in parts:
            open_address(page, f"{address}?model={model}&{part}")
            seen[f"{address}, {part}"] = [*faults(page), *wrong(page, model)[1]]
    assert not any(seen.values()), _in_words(seen)


def test_the_papers_base_model_on_the_pages_of_sizes(page: Page):
    seen = {}
    for address in ("steps", "architecture"):
        open_address(see_canvases(page), f"{address}?model=paper-base")
        assert view_of(page)["model"] == "paper-base"
        seen[address] = faults(page)
    assert not any(seen.values()), _in_words(seen)


@pytest.mark.parametrize("width", [1440, 1024])
def test_pages_without_a_text(width: int, new_page: Callable[..., Page]):
    page = new_page(viewport={"width": width, "height": 900})
    chapters = [
        f"tour?lesson={path.stem.partition('-')[2]}"
        for path in sorted((ROOT / "pages/learn/tour/lessons/en").glob("*.md"))
    ]
    seen = {}
    for address in (*chapters, "glossary", "train", "film", "models"):
        open_address(page, address)
        seen[address] = faults(page)
        assert "There are no lessons" not in page.inner_text("body"), address
        if address in chapters and width == 1024:
            seen[f"{address}, answered"] = answered(page)
        elif address == "train":
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
