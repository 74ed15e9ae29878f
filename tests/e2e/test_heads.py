"""The page Heads as a person uses it, in a real Chromium."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser


def open_heads(page: Page, address: str = "/heads") -> None:
    """Go there, and wait until overview and heatmap are drawn."""
    page.goto(address)
    expect(heads(page).first).to_be_visible()
    expect(title(page)).to_be_visible()


def heads(page: Page) -> Locator:
    """The buttons of the overview."""
    return page.locator("button.head")


def head(page: Page, name: str) -> Locator:
    """The button of one head."""
    return page.get_by_role("button", name=f"{name}.")


def title(page: Page) -> Locator:
    """The heatmap's title."""
    return page.locator(".plot .gtitle")


def type_text(page: Page, text: str) -> None:
    """Type a text and press Enter."""
    box = page.get_by_label("Text", exact=True)
    box.click()
    box.fill(text)
    box.press("Enter")


def keys(page: Page) -> Locator:
    """The labels of the heatmap's columns."""
    return page.locator(".plot .xtick text")


def hover_cell(page: Page, query: int, key: int, n_queries: int, n_keys: int) -> str:
    """Point at a cell and return the words that appear."""
    box = page.locator(".plot .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(
        box["x"] + box["width"] * (key + 0.5) / n_keys, box["y"] + box["height"] * (query + 0.5) / n_queries
    )
    words = page.locator(".plot .hoverlayer text")
    expect(words).to_have_text(re.compile(rf"query {query} .* key {key} "))
    return words.text_content() or ""


def view_of(page: Page) -> dict[str, str]:
    """The view in the URL."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()}


def test_a_sentence_is_translated_and_all_heads_are_drawn(page: Page):
    open_heads(page)
    expect(page).to_have_title("Headlight")
    for kind in ("Encoder self-attention", "Decoder self-attention", "Cross-attention"):
        expect(head(page, f"{kind} L0.H0")).to_be_visible()
    first = page.locator(".hl-answer").text_content() or ""
    type_text(page, "The animal didn't cross the street because it was too wide.")
    expect(page.locator(".hl-answer")).not_to_have_text(first)
    expect(page.locator(".hl-answer")).to_have_text(re.compile(r"\w{2,}"))
    type_text(page, "The cat sees the dog.")
    expect(keys(page)).to_have_text(["The", "cat", "sees", "the", "dog", ".", "<eos>"])


def test_a_click_opens_a_head_and_hover_reads_a_cell(page: Page):
    open_heads(page)
    type_text(page, "The cat sees the dog.")
    head(page, "Encoder self-attention L1.H2").click()
    expect(title(page)).to_have_text("Attention pattern: encoder self-attention L1.H2")
    expect(head(page, "Encoder self-attention L1.H2")).to_have_attribute("aria-pressed", "true")
    expect(keys(page)).to_have_count(7)
    words = hover_cell(page, query=2, key=1, n_queries=7, n_keys=7)
    assert re.fullmatch(r"query 2 'sees' → key 1 'cat': [01]\.\d\d", words)
    axes = page.locator(".plot .xtitle, .plot .ytitle")
    expect(axes.filter(has_text="query")).to_have_count(1)
    expect(axes.filter(has_text="key")).to_have_count(1)


def test_the_future_is_not_allowed_rather_than_zero(page: Page):
    open_heads(page, "/heads?attention=decoder&layer=0&head=0&text=The+cat+sees+the+dog.")
    n = page.locator(".plot .ytick text").count()
    assert "masked" in hover_cell(page, query=0, key=n - 1, n_queries=n, n_keys=n)


def test_the_overview_works_from_the_keyboard(page: Page):
    open_heads(page, "/heads?attention=encoder&layer=0&head=0")
    head(page, "Encoder self-attention L0.H0").focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(title(page)).to_have_text("Attention pattern: encoder self-attention L1.H1")


def test_hover_names_a_head_and_its_strongest_link(page: Page):
    open_heads(page)
    head(page, "Cross-attention L0.H1").hover()
    tip = page.locator(".overview .tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("Cross-attention L0.H1")
    expect(tip).to_contain_text(re.compile(r"“.+” → “.+” [01]\.\d\d"))


def test_the_copied_link_opens_the_same_view(page: Page, new_page: Callable[..., Page]):
    open_heads(page)
    type_text(page, "The big cat sees the small dog.")
    expect(keys(page)).to_have_count(9)
    head(page, "Decoder self-attention L0.H3").click()
    expect(title(page)).to_have_text("Attention pattern: decoder self-attention L0.H3")
    expect(page).to_have_url(re.compile("attention=decoder&layer=0&head=3"))

    other = new_page()
    open_heads(other, page.url)
    expect(title(other)).to_have_text("Attention pattern: decoder self-attention L0.H3")
    expect(other.get_by_label("Text", exact=True)).to_have_value("The big cat sees the small dog.")
    expect(other.locator(".hl-answer")).to_have_text(page.locator(".hl-answer").text_content() or "")
    expect(head(other, "Decoder self-attention L0.H3")).to_have_attribute("aria-pressed", "true")
    assert view_of(other) == view_of(page)


def test_the_browsers_back_button_goes_back_to_the_view_before(page: Page):
    open_heads(page, "/heads?attention=cross&layer=0&head=0")
    head(page, "Cross-attention L0.H1").click()
    expect(title(page)).to_have_text("Attention pattern: cross-attention L0.H1")
    expect(page).to_have_url(re.compile("head=1"))
    page.go_back()
    expect(title(page)).to_have_text("Attention pattern: cross-attention L0.H0")
    page.go_forward()
    expect(title(page)).to_have_text("Attention pattern: cross-attention L0.H1")


def test_markup_in_a_text_is_text(page: Page):
    open_heads(page)
    type_text(page, "<script>window.stolen=1</script> <img src=x onerror=window.stolen=1> cat")
    expect(page.locator(".hl-note")).to_contain_text("Not in the vocabulary")
    head(page, "Encoder self-attention L0.H1").click()
    expect(title(page)).to_have_text("Attention pattern: encoder self-attention L0.H1")
    expect(keys(page).first).to_have_text("<unk> <")
    assert page.evaluate("window.stolen") is None


def test_every_way_to_look_stands_in_the_address(page: Page, new_page: Callable[..., Page]):
    """Lines, a chosen cell, a zoom and a mixture: all of it in the URL, and back and forward walk through it."""
    open_heads(page, "/heads?attention=encoder&layer=0&head=0&text=The+cat+sees+the+dog.")
    click_cell(page, query=2, key=1, n=7)
    expect(page).to_have_url(re.compile("query=2&key=1"))
    row = page.locator(".gtitle", has_text="Attention from query 2 'sees'")
    expect(row).to_be_visible()
    expect(page.locator(".gtitle", has_text="in every head")).to_be_visible()
    head(page, "Encoder self-attention L1.H2").click(modifiers=["Shift"])
    expect(title(page).first).to_have_text("Attention pattern: encoder self-attention, mean of heads L0.H0, L1.H2")
    expect(page).to_have_url(re.compile(r"mix=0.0%2B1.2"))
    head(page, "Decoder self-attention L0.H1").click(modifiers=["Shift"])
    expect(page.get_by_test_id("stToast")).to_contain_text("Only heads of the same attention can be combined")
    expect(title(page).first).to_have_text("Attention pattern: encoder self-attention, mean of heads L0.H0, L1.H2")
    page.get_by_role("radio", name="Lines").click()
    expect(page.get_by_text("Attention as lines: encoder self-attention, heads L0.H0, L1.H2")).to_be_visible()
    expect(page).to_have_url(re.compile("as=lines"))
    other = new_page()
    other.goto(page.url)
    expect(other.get_by_text("Attention as lines: encoder self-attention, heads L0.H0, L1.H2")).to_be_visible()
    page.go_back()
    expect(title(page).first).to_have_text(re.compile("mean of heads L0.H0, L1.H2"))
    page.go_back()
    expect(title(page).first).to_have_text("Attention pattern: encoder self-attention L0.H0")


def test_heads_of_a_layer_stand_in_one_row_and_a_measure_moves_nothing(page: Page):
    open_heads(page, "/heads?model=induction")
    for layer in range(2):
        boxes = [head(page, f"Decoder self-attention L{layer}.H{i}").bounding_box() for i in range(4)]
        assert len({box["y"] for box in boxes if box}) == 1
    overview = page.locator(".overview")
    before = overview.bounding_box()
    page.goto("/heads?model=induction&measure=entropy&order=ascending")
    expect(page.locator(".cell .column").first).to_have_text(re.compile(r"L\d\.H\d"))
    assert overview.bounding_box() == before
    page.get_by_role("button", name="Sort heads").click()
    expect(page.locator(".cell .column")).to_have_count(0)


def test_a_box_zooms_and_a_double_click_shows_all_again(page: Page):
    open_heads(page, "/heads?attention=encoder&layer=0&head=0&text=The+cat+sees+the+dog.")
    ends = [place(page, query, key, 7) for query, key in ((1, 2), (3, 4))]
    page.mouse.move(*ends[0])
    page.mouse.down()
    page.mouse.move(*ends[1], steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile("window=1-3.2-4"))
    expect(keys(page)).to_have_text(["sees", "the", "dog"])
    page.mouse.dblclick(*place(page, 0, 0, 3))
    expect(keys(page)).to_have_count(7)


def place(page: Page, query: int, key: int, n: int) -> tuple[float, float]:
    """Where a cell of the large figure, of n by n cells, is on the page."""
    box = page.locator(".plot .nsewdrag").first.bounding_box()
    assert box is not None
    return box["x"] + box["width"] * (key + 0.5) / n, box["y"] + box["height"] * (query + 0.5) / n


def click_cell(page: Page, query: int, key: int, n: int) -> None:
    """Click a cell, as a hand does: there first, then down and up."""
    page.mouse.move(*place(page, query, key, n))
    page.wait_for_timeout(150)
    page.mouse.click(*place(page, query, key, n))


def test_the_figures_follow_the_theme(new_page: Callable[..., Page]):
    page = new_page(color_scheme="dark")
    open_heads(page)
    ground = page.locator(".plot .main-svg").first
    expect(ground).to_have_css("background-color", "rgb(18, 20, 26)")
    page.emulate_media(color_scheme="light")
    expect(ground).to_have_css("background-color", "rgb(255, 255, 255)")


def test_where_the_sidebar_is_folded_its_button_covers_nothing(page: Page):
    open_heads(page)
    page.get_by_test_id("stSidebarHeader").hover()  # where the button is, once a hand comes near
    page.get_by_role("button", name="Collapse sidebar").click()
    unfold = page.get_by_role("button", name="Expand sidebar")
    expect(unfold).to_be_visible()
    expect(page.get_by_test_id("stMainBlockContainer")).to_have_css("padding-left", "64px")
    page.wait_for_function(  # the button slides to its place, and may begin late
        """() => {
          const right = document.querySelector('[data-testid="stExpandSidebarButton"]')?.getBoundingClientRect().right;
          return right <= document.querySelector('[aria-label="Text"]').getBoundingClientRect().left;
        }"""
    )
    unfold.press("Enter")
    expect(page.get_by_test_id("stMainBlockContainer")).to_have_css("padding-left", "36px")


def test_a_link_to_what_does_not_exist_opens_what_is_nearest(page: Page):
    open_heads(page, "/heads?model=none&attention=none&layer=99&head=99")
    expect(page.locator(".hl-note")).to_contain_text("There is no model “none” here")
    expect(page).to_have_url(re.compile("/heads[?]attention=cross&layer=1&head=3$"))


WEIGHTS = """[...document.querySelector(".figure").view.plot.data.find(({ name }) => name === "attention").z].map(
  (row) => Array.from(row, (weight) => (Number.isFinite(weight) ? weight : null)))"""
AT_ONCE = f"""(name) => {{
  const roots = [...document.querySelectorAll("*")].map((element) => element.shadowRoot);
  const root = roots.find((one) => one?.querySelector(".overview"));
  root.querySelector(`button.head[aria-label^="${{name}}."]`).click();
  const {{ plot }} = document.querySelector(".figure").view;
  const labels = [...plot.querySelectorAll(".xtick text")].map((label) => label.textContent);
  return {{ title: plot.querySelector(".gtitle").textContent, labels, weights: {WEIGHTS} }};
}}"""


@pytest.mark.parametrize("name", ["Cross-attention L1.H2", "Decoder self-attention L0.H1"])
def test_a_clicked_head_is_seen_before_the_server_answers(page: Page, name: str):
    open_heads(page, "/heads?attention=cross&layer=1&head=0&text=The+cat+sees+the+dog.")
    seen = page.evaluate(AT_ONCE, name)
    assert seen["title"] == f"Attention pattern: {name[0].lower()}{name[1:]}"
    expect(page.locator(".plot .scatterlayer text").first).to_be_visible()  # the server's numbers are there
    assert seen["labels"] == keys(page).all_text_contents()
    assert seen["weights"] == [
        [None if weight is None else pytest.approx(weight, abs=0.5 / 254) for weight in row]
        for row in page.evaluate(WEIGHTS)
    ]


def test_what_draws_code_is_read_when_code_is_asked_for(page: Page):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_heads(page)
    assert not any("SyntaxHighlighter" in url for url in asked)
    page.get_by_text("Show the code", exact=True).click()
    expect(page.get_by_test_id("stCode")).to_contain_text("model, tokenizer = tc.load('checkpoints/en-fr')")
    page.get_by_role("button", name="Cross-attention L0.H1.").click()
    expect(page.get_by_test_id("stCode")).to_contain_text("HeadShare(layer=0, head=1)")
