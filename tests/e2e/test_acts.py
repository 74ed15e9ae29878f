"""Two acts at once, as quick hands and slow networks make them: both have their effect."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.looking import wait
from tests.e2e.test_heads import open_heads

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
    [("a head", "the target", 12), ("German", "lines", 0)],
)
def test_both_have_their_effect(page: Page, first: str, second: str, gap: int):
    """A component and a widget, within the fragment of the page and outside of it; `gap` is in ms."""
    open_heads(page)
    wait(page)
    (one, says_one), (two, says_two) = ACTS[first], ACTS[second]
    page.evaluate(TWO_CLICKS, [one(page).element_handle(), two(page).element_handle(), gap])
    for says in (says_one, says_two):
        expect(page).to_have_url(re.compile(says))
