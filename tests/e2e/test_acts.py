"""Two acts at once, as quick hands and slow networks make them: both have their effect."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.looking import open_address, type_text, wait
from tests.e2e.test_heads import open_heads

pytestmark = pytest.mark.browser

ACTS: dict[str, tuple[Callable[[Page], Locator], str]] = {  # what is clicked, and what the address says then
    "a head": (lambda page: page.locator("button.head").nth(9), "attention=decoder.*layer=0.*head=1"),
    "lines": (lambda page: page.get_by_role("radio", name="Lines"), "as=lines"),
    "the target": (lambda page: page.get_by_role("button", name="Edit the target"), "target="),
    "German": (lambda page: page.get_by_role("radio", name="Deutsch"), "language=de"),
}
TWO_CLICKS = """async ([first, second, gap]) => {
    first.click();
    const start = performance.now();
    while (performance.now() - start < gap) await new Promise((go) => setTimeout(go));
    second.click();
}"""


@pytest.mark.parametrize(
    ("first", "second", "gap"),
    [("a head", "lines", 0), ("a head", "the target", 12), ("the target", "a head", 0), ("German", "the target", 12)],
)
def test_both_have_their_effect(page: Page, first: str, second: str, gap: int):
    """A component and a widget, within the fragment of the page and outside of it; `gap` is in ms."""
    open_heads(page)
    wait(page)
    (one, says_one), (two, says_two) = ACTS[first], ACTS[second]
    page.evaluate(TWO_CLICKS, [one(page).element_handle(), two(page).element_handle(), gap])
    for says in (says_one, says_two):
        expect(page).to_have_url(re.compile(says))


@pytest.mark.full
def test_a_text_that_the_page_took_back_can_be_typed_again_at_once(page: Page):
    """Each page begins with its example, and quick hands type the same text as before."""
    for address in ("steps", "masks", "steps"):
        open_address(page, address)
        type_text(page, "The dog sees the cat.")
        expect(page).to_have_url(re.compile("text=The"))
