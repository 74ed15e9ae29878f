"""Back and Forward in a real Chromium: a step is what a person did, and no page holds anybody back."""

import re

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.e2e.conftest import PATIENCE

pytestmark = pytest.mark.browser


def heading(page: Page, name: str) -> None:
    """The page of this name is there, and has written its address."""
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(page.locator("[data-test-script-state=notRunning]")).to_be_attached()


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("/", "/start"),
        ("/heads", "/heads"),
        ("/steps?model=en-fr&query=2", "/steps[?]query=2"),
        ("/masks?layer=99", "/masks"),
    ],
)
def test_one_step_back_leads_out_again(page: Page, address: str, written: str):
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator(".hl-title").first).to_be_visible()
    expect(page).to_have_url(re.compile(rf"{written}(&|$)"))
    assert page.evaluate("history.length") == 2
    page.go_back()
    expect(page).to_have_url("about:blank")


def test_each_act_is_a_step(page: Page):
    page.goto("/heads?attention=cross&layer=0&head=0")
    heading(page, "Heads")
    for i in (1, 2):
        page.get_by_role("button", name=f"Cross-attention L0.H{i}.").click()
        expect(page).to_have_url(re.compile(f"layer=0&head={i}"))
    page.get_by_role("link", name="Architecture", exact=True).click()
    heading(page, "Architecture")
    seen = [("Heads", "head=2"), ("Heads", "head=1"), ("Heads", "head=0")]
    for name, head in seen:
        page.go_back()
        heading(page, name)
        expect(page).to_have_url(re.compile(head))
        expect(page.locator("button.head[aria-pressed=true]")).to_have_accessible_name(re.compile(f"L0.H{head[-1]}"))
    for name, view in (("Heads", "head=1"), ("Heads", "head=2"), ("Architecture", "head=2")):
        page.go_forward()  # a page that wrote an address of its own would end the way here
        heading(page, name)
        expect(page).to_have_url(re.compile(view))


def test_back_leads_to_the_view_that_needs_no_words(page: Page):
    page.goto("/heads")
    heading(page, "Heads")
    page.get_by_role("button", name="Cross-attention L0.H1.").click()
    expect(page.locator(".plot .gtitle")).to_contain_text("L0.H1")
    expect(page).to_have_url(re.compile("layer=0&head=1"))
    page.get_by_role("link", name="Architecture", exact=True).click()
    heading(page, "Architecture")
    expect(page).to_have_url(re.compile("layer=0&head=1"))  # what was chosen goes along
    page.go_back()
    heading(page, "Heads")
    page.go_back()
    expect(page.locator(".plot .gtitle")).to_contain_text("L1.H0")
    expect(page).to_have_url(re.compile("/heads$"))


def test_a_link_of_the_tour_is_one_step(page: Page):
    page.goto("/tour?lesson=cross-attention")
    heading(page, "Tour")
    page.locator("[class*=st-key-hl-tour-question-0] button").get_by_text("street", exact=True).click()
    page.get_by_role("button", name=re.compile("elle: “wide” fits the street")).click()
    page.get_by_role("link", name=re.compile("Stop at the pronoun")).click()
    heading(page, "Decoding")
    expect(page).to_have_url(re.compile("/decoding$"))  # the step that the link names is the one to begin with
    page.go_back()
    heading(page, "Tour")
    expect(page).to_have_url(re.compile("lesson=cross-attention"))
    expect(page.locator(".hl-tour-title")).to_be_visible()


def test_a_key_is_an_act_too(page: Page):
    page.goto("/heads?attention=cross&layer=0&head=0")
    heading(page, "Heads")
    page.get_by_role("button", name="Cross-attention L0.H1.").press("Enter")
    expect(page).to_have_url(re.compile("head=1"))
    page.go_back()
    expect(page).to_have_url(re.compile("head=0"))


class LateAddress:
    """Keeps an address from the browser, and all that the server says after it, until it is let through."""

    def __init__(self, page: Page, words: bytes) -> None:
        self.page = page
        self.words = words
        self.held: list[str | bytes] | None = None  # None: the address was not there yet
        page.route_web_socket(re.compile("_stcore/stream"), self._connect)

    def _connect(self, browser: WebSocketRoute) -> None:
        self._browser = browser
        browser.connect_to_server().on_message(self._answer)

    def _answer(self, message: str | bytes) -> None:
        if self.held is None and isinstance(message, bytes) and self.words in message:
            self.held = []
        if self.held is None:
            self._browser.send(message)
        else:
            self.held.append(message)

    def wait_for(self, words: bytes) -> None:
        """Return once what is kept has these words."""
        for _ in range(PATIENCE // 50):
            if any(words in message for message in self.held or () if isinstance(message, bytes)):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"the server never said {words!r}")

    def let_through(self) -> None:
        """Send what was kept."""
        held, self.held, self.words = self.held or (), None, b"no address"
        for message in held:
            self._browser.send(message)


def test_an_act_that_comes_with_an_older_address_is_no_step_back(page: Page):
    """As a busy browser sends it; here the language, which is no part of any page's view."""
    late = LateAddress(page, b"&layer=0&head=1")
    page.goto("/heads?attention=cross&layer=1&head=2")
    heading(page, "Heads")
    expect(page.locator(".plot .gtitle")).to_contain_text("L1.H2")
    page.get_by_role("button", name="Cross-attention L0.H1.").click()
    late.wait_for(late.words)
    page.get_by_text("Deutsch", exact=True).click()
    late.wait_for("Köpfe".encode())
    assert "layer=1&head=2" in page.url
    late.let_through()
    expect(page.get_by_role("heading", name="Köpfe", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("layer=0&head=1.*language=de"))
    expect(page.locator(".plot .gtitle")).to_contain_text("L0.H1")


def test_an_address_that_comes_after_a_step_back_is_left_out(page: Page):
    """It is of the view that was left."""
    late = LateAddress(page, b"&layer=0&head=2")
    page.goto("/heads?attention=cross&layer=0&head=0")
    heading(page, "Heads")
    page.get_by_role("button", name="Cross-attention L0.H1.").click()
    expect(page).to_have_url(re.compile("layer=0&head=1"))
    page.get_by_role("button", name="Cross-attention L0.H2.").click()
    expect(page.locator(".plot .gtitle")).to_contain_text("L0.H2")
    late.wait_for(late.words)
    page.go_back()
    expect(page).to_have_url(re.compile("layer=0&head=0"))
    late.let_through()
    expect(page.locator(".plot .gtitle")).to_contain_text("L0.H0")
    expect(page).to_have_url(re.compile("layer=0&head=0"))
