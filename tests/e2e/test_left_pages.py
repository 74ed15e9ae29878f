"""What leaves the page leaves the browser's memory: figures and all other components, in a real Chromium."""

from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.e2e.looking import type_text, wait

WATCH = """
window.components = [];
const found = new WeakSet();
setInterval(() => {
  for (const host of document.querySelectorAll('[data-testid^="stBidiComponent"]')) {
    const root = (host.shadowRoot ?? host).querySelector("div[lang]");
    const drawn = root?.firstElementChild; // React may hold the empty root itself for as long as it likes
    if (!drawn || found.has(root)) continue;
    found.add(root);
    window.components.push({ name: root.className, node: new WeakRef(drawn) });
  }
}, 20);
"""
TRANSITIONS = """
window.begun = [];
window.changed = 0;
document.addEventListener("transitionrun", ({ target }) => {
  if (target.closest("[data-testid=stMain] [class*=st-emotion-cache]")) window.begun.push(target.className);
});
new MutationObserver((records) => {
  window.changed += records.filter(({ target }) => target.dataset.stale === "true").length;
}).observe(document, { attributeFilter: ["data-stale"], subtree: true });
"""
LEFT = """async () => {
  const entries = performance.getEntriesByType("resource");
  const { FIGURES } = await import(entries.find(({ name }) => name.endsWith("/figures/cells.js")).name);
  return {
    alive: window.components.map(({ name, node }) => node.deref() && !node.deref().isConnected && name).filter(Boolean),
    seen: window.components.length,
    registered: [...FIGURES].filter(({ root }) => !root.isConnected).length,
  };
}"""


def go_to(page: Page, name: str) -> None:
    """Open another page, and wait until it stands there with all that it draws."""
    page.get_by_test_id("stSidebarNavLink").filter(has_text=name).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.locator("[data-stale=true]")).to_have_count(0)


def collected(page: Page, devtools: CDPSession, name: str) -> dict[str, Any]:
    """What is alive of the components that have left, after the browser collected its garbage.

    React may hold the nodes that left last until it draws again, so the page `name`, which is open, is requested again.
    """
    left: dict[str, Any] = {}
    for round_ in range(20):  # what one collection sets free may hold what the next one finds
        devtools.send("HeapProfiler.collectGarbage")
        page.wait_for_timeout(200)
        left = page.evaluate(LEFT)
        if round_ >= 3 and not left["alive"]:
            break
        if round_ >= 3:
            go_to(page, name)
    return left


@pytest.fixture
def devtools(page: Page) -> CDPSession:
    page.add_init_script(WATCH)
    return page.context.new_cdp_session(page)


def open_heads(page: Page) -> None:
    go_to(page, "Heads")
    expect(page.locator(".figure .gtitle").first).to_be_visible()


@pytest.mark.full
def test_what_leaves_the_page_is_set_free(page: Page, devtools: CDPSession):
    sizes = []
    page.goto("/models")
    for round_trip in range(6):
        open_heads(page)
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.get_by_role("button", name="Save everything in one file (ZIP)")).to_be_enabled()
        go_to(page, "Models")
        if round_trip in (2, 5):
            left = collected(page, devtools, "Models")
            sizes.append(devtools.send("Runtime.getHeapUsage")["usedSize"])
            assert not left["alive"]
            assert left["registered"] == 0
            assert left["seen"] >= 2 * (round_trip + 1)  # a busy page may make one again
    assert sizes[1] < 1.1 * sizes[0]
    for name in ("Decoding", "Attention step by step", "Masks", "Positions", "Architecture", "Models"):
        go_to(page, name)
    assert not collected(page, devtools, "Models")["alive"]


@pytest.mark.full
def test_no_element_of_streamlit_changes_by_a_transition(page: Page):
    """react-aria, a library of Streamlit's, keeps every element that is removed during a transition."""
    page.add_init_script(TRANSITIONS)
    page.goto("/heads")
    for one in (page.locator("summary").first, page.get_by_role("textbox").first):
        one.hover()
        one.focus()
        page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    assert page.evaluate("window.begun") == []
    page.goto("/heads?model=stories")
    wait(page)
    for text in ("One day the cat saw a dog.", "One day the dog saw a cat."):
        type_text(page, text)
    assert page.evaluate("window.changed") > 0
    assert page.evaluate("window.begun") == []
    fades = page.evaluate(
        """(keys) => keys.filter((key) => {
          const [stage, part] = [document.createElement("div"), document.createElement("div")];
          stage.className = `st-key-hl-${key}`;
          part.dataset.stale = "true";
          document.body.append(stage);
          stage.append(part);
          return getComputedStyle(part).animationName !== "none";
        })""",
        ["arch-site", "blanks", "compare-left", "film-stage", "masks-memory", "steps", "tour", "train-stage", "other"],
    )
    assert fades == ["other"]
