"""What a person would call broken on a page: texts that overlap, are cut off or are missing; and waiting for a page."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import FloatRect, Locator, Page

_LOOK = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_CANVASES = Path(__file__).with_name("looking_at_canvases.js")
_GO = """address => {
  const button = Object.assign(document.createElement("button"), { style: "position: fixed; opacity: 0" });
  button.addEventListener("keydown", () => {
    History.prototype.pushState.call(history, null, "", address); // the app's own asks who acted
    dispatchEvent(new PopStateEvent("popstate"));
  });
  button.addEventListener("click", () => button.remove());
  document.body.append(button);
  button.focus();
}"""
_IDLE = """([text]) => {
  const app = document.querySelector('[data-testid="stApp"]');
  const address = new URLSearchParams(location.search);
  const isDrawn = (host) => { // its module has come; three draw nothing themselves
    const root = (host.shadowRoot ?? host).querySelector("div[lang]");
    return !root || root.firstElementChild || root.matches(".film, .chapter, .browser_storage");
  };
  return app?.dataset.testScriptState === "notRunning" && app.dataset.testConnectionState === "CONNECTED"
    && !document.querySelector('[data-testid="stSkeleton"], [data-stale="true"]')
    && [...document.querySelectorAll('[data-testid^="stBidiComponent"]')].every(isDrawn)
    && (text === null || address.get("text") === text);
}"""
LINE = 14  # px: with so much room for each, every token has its label
_MISSING_LABELS = Path(__file__).with_name("missing_labels.js").read_text(encoding="utf-8")
_OVERLAPPING = """(parts, gap) => {
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const isBeside = (a, b) => a.left >= b.right - gap || b.left >= a.right - gap;
  const isBelow = (a, b) => a.top >= b.bottom - gap || b.top >= a.bottom - gap;
  if (!boxes.length) return ["there is nothing"];
  return boxes.flatMap((box, i) => boxes.slice(0, i).filter((other) => !isBeside(box, other) && !isBelow(box, other))
    .map(() => parts[i].textContent || parts[i].className));
}"""
_SETTLED = """() => new Promise(resolve => {
  const boxes = () => [...document.querySelectorAll('[data-testid="stMain"] *')].slice(0, 2000).map(
    e => { const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }).join();
  let before = "", same = 0;
  const look = () => {
    const now = boxes();
    same = now === before ? same + 1 : 0;
    before = now;
    if (same >= 3) resolve(); else setTimeout(look, 60);
  };
  look();
})"""


def see_canvases(page: Page) -> Page:
    """Let `faults` see what is written on canvases, too, from the next page that is opened on; return the page."""
    page.add_init_script(path=_CANVASES)
    return page


def wait(page: Page, text: str | None = None) -> None:
    """Return when the page has answered and nothing on it moves; with a text, when it is the one in the address."""
    page.wait_for_timeout(160)  # until then the page may not have heard of the last act
    page.wait_for_function(_IDLE, arg=[text], polling=50)
    page.evaluate(_SETTLED)


def open_address(page: Page, address: str) -> None:
    """Open an address, in place where the app is open already, as the browser does for Back; and wait for the page.

    That takes less than half of the time of a full page load. After Back alone a page keeps the address, so
    one key press does both: it opens the address, and its click counts as an act of the person, before any answer.
    """
    if page.url.startswith("http"):
        page.evaluate(_GO, f"/{address}")
        page.keyboard.press("Enter")
    else:
        page.goto(f"/{address}")
    wait(page)


def type_text(page: Page, text: str) -> None:
    """Type into the box that every page shares, and wait for the answer."""
    box = page.locator(".st-key-hl-bar").locator("input[type=text], textarea").first
    box.click()
    box.fill(text)
    box.press("Enter")
    wait(page, text)


def faults(page: Page) -> list[str]:
    """Return, in words, each text that lies on another one and each that is cut off."""
    results: dict[str, Any] = page.evaluate(_LOOK)
    assert results["n"] > 20, "there is hardly a text on this page"
    return [*results["cut"], *results["overlapping"]]


def missing_labels(page: Page) -> list[str]:
    """Return each axis of tokens on which some token has no label although there is room for it."""
    results: list[str] = page.evaluate(_MISSING_LABELS, LINE)
    return results


def parameters(page: Page) -> dict[str, str]:
    """Return the view in the address."""
    return {name: values[-1] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()}


def box_of(part: Locator) -> FloatRect:
    """Return where a part of the page is, in px."""
    box = part.bounding_box()
    assert box is not None, f"{part} is not shown"
    return box


def cell_at(plot: Locator, row: int, column: int, n_rows: int, n_columns: int) -> tuple[float, float]:
    """Return the middle of a cell of a figure with this many rows and columns, in px of the page."""
    box = box_of(plot.locator(".nsewdrag").first)
    return box["x"] + box["width"] * (column + 0.5) / n_columns, box["y"] + box["height"] * (row + 0.5) / n_rows


def overlapping(parts: Locator, gap: float = 0.5) -> list[str]:
    """Return the texts of parts of the page that have more than an edge in common with another one."""
    results: list[str] = parts.evaluate_all(_OVERLAPPING, gap)
    return results
