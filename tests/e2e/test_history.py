"""Back and Forward in a real Chromium: a step is what a person did, and no page holds anybody back."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.late_answers import LateAnswers


def heading(page: Page, name: str) -> None:
    """The page of this name is there, and has written its address."""
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(page.locator("[data-test-script-state=notRunning]")).to_be_attached()


def test_one_step_back_leads_out_again(page: Page):
    for address, written in {"/": "/start", "/steps?model=en-fr&query=2": "/steps[?]query=2"}.items():
        page.goto("about:blank")
        page.goto(address)
        expect(page.locator(".hl-title").first).to_be_visible()
        expect(page).to_have_url(re.compile(rf"{written}(&|$)"))
        assert page.evaluate("history.length") == 2
        page.go_back()
        expect(page).to_have_url("about:blank")


def test_each_act_is_a_step(page: Page):
    page.goto("/heads")  # the view that needs no words
    heading(page, "Heads")
    page.get_by_role("button", name="Cross-attention L0.H1.").click()
    expect(page).to_have_url(re.compile("layer=0&head=1"))
    page.get_by_role("button", name="Cross-attention L0.H2.").press("Enter")  # a key is an act, too
    expect(page).to_have_url(re.compile("layer=0&head=2"))
    page.get_by_role("link", name="Architecture", exact=True).click()
    heading(page, "Architecture")
    for view, head in {"layer=0&head=2": "L0.H2", "layer=0&head=1": "L0.H1", "/heads$": "L1.H0"}.items():
        page.go_back()
        heading(page, "Heads")
        expect(page).to_have_url(re.compile(view))
        expect(page.locator("button.head[aria-pressed=true]")).to_have_accessible_name(re.compile(f"attention {head}"))
    for name, view in (("Heads", "head=1"), ("Heads", "head=2"), ("Architecture", "head=2")):
        page.go_forward()  # a page that wrote its own address would end the way here
        heading(page, name)
        expect(page).to_have_url(re.compile(view))


def test_an_act_that_comes_with_an_older_address_is_no_step_back(page: Page):
    """As a busy browser sends it; here the language, which is not a part of any page's view."""
    late = LateAnswers(page)
    late.hold(b"&layer=0&head=1")
    page.goto("/heads?attention=cross&layer=1&head=2")
    heading(page, "Heads")
    expect(page.locator(".plot .gtitle")).to_contain_text("L1.H2")
    page.get_by_role("button", name="Cross-attention L0.H1.").click()
    late.wait()
    page.get_by_text("Deutsch", exact=True).click()
    late.wait("Köpfe".encode())
    assert "layer=1&head=2" in page.url
    late.let_through()
    expect(page.get_by_role("heading", name="Köpfe", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("layer=0&head=1.*language=de"))
    expect(page.locator(".plot .gtitle")).to_contain_text("L0.H1")
