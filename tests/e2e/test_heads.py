"""The Heads page as a person uses it, in a real Chromium."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import LAPTOP, PROJECTOR
from tests.e2e.looking import box_of, cell_at, wait
from tests.pages.conftest import PROMPTS, save_model

SHORT = "text=The+cat+sees+the+dog."
TOKENS = ["The", "cat", "sees", "the", "dog", ".", "<eos>"]


def open_heads(page: Page, address: str = "/heads") -> None:
    """Go there, and wait until overview and heatmap are drawn."""
    page.goto(address)
    expect(page.locator("button.head").first).to_be_visible()
    expect(title(page)).to_be_visible()


def head(page: Page, name: str) -> Locator:
    """The button of one head."""
    return page.get_by_role("button", name=f"{name}.")


def title(page: Page) -> Locator:
    """The title of the first figure, the heatmap."""
    return page.locator(".plot .gtitle").first


def keys(page: Page) -> Locator:
    """The labels of the heatmap's columns."""
    return page.locator(".st-key-heatmap .xtick text")


def type_text(page: Page, text: str) -> None:
    box = page.get_by_label("Text", exact=True)
    box.click()
    box.fill(text)
    box.press("Enter")


def hover(page: Page, query: int, key: int, n: int) -> str:
    """Point at a cell of a map of n by n tokens and return the words that appear."""
    page.mouse.move(*cell_at(page.locator(".plot").first, query, key, n, n))
    words = page.locator(".plot .hoverlayer text")
    expect(words).to_have_text(re.compile(rf"query {query} .* key {key} "))
    return words.text_content() or ""


def test_a_text_is_read_and_a_head_is_opened_and_a_cell_pointed_at(page: Page):
    open_heads(page)
    answer = page.locator(".hl-answer")
    first = answer.text_content() or ""
    type_text(page, "<script>window.stolen=1</script> <img src=x onerror=window.stolen=1> cat")
    expect(page.locator(".hl-note")).to_contain_text("Not in the vocabulary")
    expect(keys(page).first).to_have_text("<unk> <")
    assert page.evaluate("window.stolen") is None
    type_text(page, "The cat sees the dog.")
    expect(answer).not_to_have_text(first)
    expect(keys(page)).to_have_text(TOKENS)
    head(page, "Encoder self-attention L1.H2").hover()
    expect(page.locator(".overview .tip")).to_contain_text(re.compile(r"“.+” → “.+” [01]\.\d\d"))
    head(page, "Encoder self-attention L1.H2").click()
    expect(title(page)).to_have_text("Attention pattern: encoder self-attention L1.H2")
    wait(page)
    assert re.fullmatch(r"query 2 'sees' → key 1 'cat': [01]\.\d\d", hover(page, 2, 1, 7))
    axes = page.locator(".st-key-heatmap").locator(".xtitle, .ytitle")
    assert sorted(words.split()[0].rstrip(":") for words in axes.all_text_contents()) == ["key", "query"]
    page.goto(f"/heads?attention=decoder&layer=0&head=0&{SHORT}")
    expect(title(page)).to_contain_text("decoder self-attention L0.H0")
    wait(page)
    n = page.locator(".st-key-heatmap .ytick text").count()
    assert "masked" in hover(page, 0, n - 1, n)  # the future is not allowed, rather than 0


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


def test_a_clicked_head_is_seen_before_the_server_answers(page: Page):
    open_heads(page, f"/heads?attention=cross&layer=1&head=0&{SHORT}")
    wait(page)
    for name in ("Cross-attention L1.H2", "Decoder self-attention L0.H1"):
        seen = page.evaluate(AT_ONCE, name)
        assert seen["title"] == f"Attention pattern: {name[0].lower()}{name[1:]}"
        expect(page.locator(".plot .scatterlayer text").first).to_be_visible()  # the server's numbers are there
        wait(page)
        assert seen["labels"] == keys(page).all_text_contents()
        assert seen["weights"] == [
            [None if weight is None else pytest.approx(weight, abs=0.5 / 254) for weight in row]
            for row in page.evaluate(WEIGHTS)
        ]


def test_every_way_to_look_stands_in_the_address_and_back_leads_through_it(page: Page, new_page: Callable[..., Page]):
    open_heads(page, f"/heads?attention=encoder&layer=0&head=0&{SHORT}")
    wait(page)
    page.mouse.move(*cell_at(page.locator(".plot").first, 2, 1, 7, 7))
    expect(page.locator(".plot .hoverlayer text")).to_be_visible()
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile("query=2&key=1"))
    expect(page.locator(".gtitle", has_text="Attention from query 2 'sees'")).to_be_visible()
    expect(page.locator(".gtitle", has_text="in every head")).to_be_visible()
    mixed = "Attention pattern: encoder self-attention, mean of heads L0.H0, L1.H2"
    head(page, "Encoder self-attention L1.H2").click(modifiers=["Shift"])
    expect(title(page)).to_have_text(mixed)
    expect(page).to_have_url(re.compile(r"mix=0.0%2B1.2"))
    head(page, "Decoder self-attention L0.H1").click(modifiers=["Shift"])
    expect(page.get_by_test_id("stToast")).to_contain_text("Only heads of the same attention can be combined")
    expect(title(page)).to_have_text(mixed)
    page.get_by_role("radio", name="Lines").click()
    lines = "Attention as lines: encoder self-attention, heads L0.H0, L1.H2"
    expect(page.get_by_text(lines)).to_be_visible()
    expect(page).to_have_url(re.compile("as=lines"))
    other = new_page()
    other.goto(page.url)
    expect(other.get_by_text(lines)).to_be_visible()
    page.go_back()
    expect(title(page)).to_have_text(mixed)
    page.go_back()
    expect(title(page)).to_have_text("Attention pattern: encoder self-attention L0.H0")


def test_lines_follow_the_pointer_and_a_click_keeps_them(page: Page):
    page.goto(f"/heads?as=lines&attention=encoder&layer=1&head=2&{SHORT}")
    sides = {side: page.get_by_role("button", name=re.compile(rf"^{side} \d+ '")) for side in ("query", "key")}
    expect(sides["key"].locator(".word")).to_have_text(TOKENS)
    one = page.locator("canvas.only")

    def painted() -> str:
        return str(one.evaluate("canvas => canvas.toDataURL()"))

    def weights(side: str) -> list[float]:
        return [float(text or 0) for text in sides[side].locator(".numbers").all_text_contents()]

    nothing = painted()
    rows = []
    for query in range(len(TOKENS)):
        sides["query"].nth(query).hover()
        expect(page.locator(".lines")).to_contain_text(f"query {query} '{TOKENS[query]}' →")
        rows.append(weights("key"))
        assert sum(rows[-1]) == pytest.approx(1, abs=0.005 * len(TOKENS))
    expect(page.locator("canvas.all")).to_have_css("opacity", "0")
    sides["key"].nth(3).hover()
    assert weights("query") == [row[3] for row in rows]
    page.mouse.move(0, 0)
    expect(page.locator("canvas.all")).to_have_css("opacity", "1")
    assert painted() == nothing
    sides["query"].nth(1).click()
    expect(page).to_have_url(re.compile("[?&]query=1(&|$)"))
    page.mouse.move(0, 0)
    assert painted() != nothing
    sides["key"].nth(4).click()
    expect(sides["query"].nth(1)).to_have_attribute("aria-pressed", "false")
    expect(page).to_have_url(re.compile("[?&]key=4(&|$)"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("[?&]key="))


def test_a_finger_chooses_a_cell(page: Page):
    touch = page.context.new_cdp_session(page)
    touch.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    open_heads(page, f"/heads?attention=encoder&layer=0&head=0&{SHORT}")
    wait(page)
    x, y = cell_at(page.locator(".plot").first, 2, 1, 7, 7)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page).to_have_url(re.compile("query=2&key=1"))
    plot = page.get_by_role("application").first
    plot.focus()
    plot.press("ArrowRight")
    expect(page.locator("body > .hl-announced")).to_have_text(re.compile(r"^query 2 'sees' → key 2 'sees': [01]"))
    plot.press("Escape")
    expect(page).not_to_have_url(re.compile("query="))


def test_figures_follow_the_theme_and_the_button_of_a_folded_sidebar_covers_nothing(new_page: Callable[..., Page]):
    page = new_page(color_scheme="dark")
    arguments: list[str] = []
    page.on("request", lambda request: arguments.append(request.url))
    open_heads(page)
    ground = page.locator(".plot .main-svg").first
    expect(ground).to_have_css("background-color", "rgb(18, 20, 26)")
    page.emulate_media(color_scheme="light")
    expect(ground).to_have_css("background-color", "rgb(255, 255, 255)")
    assert not any("SyntaxHighlighter" in url for url in arguments)  # it is read when code is requested
    page.get_by_text("Show the code", exact=True).click()
    expect(page.get_by_test_id("stCode")).to_contain_text("model, tokenizer = tc.load(")
    head(page, "Cross-attention L0.H1").click()
    expect(page.get_by_test_id("stCode")).to_contain_text("HeadShare(layer=0, head=1)")
    page.get_by_test_id("stSidebarHeader").hover()  # its button appears when the pointer comes near
    page.get_by_role("button", name="Collapse sidebar").click()
    expect(page.get_by_role("button", name="Expand sidebar")).to_be_visible()
    page.wait_for_function(  # the button slides to its place, and may begin late
        """() => {
          const right = document.querySelector('[data-testid="stExpandSidebarButton"]')?.getBoundingClientRect().right;
          return right <= document.querySelector('[aria-label="Text"]').getBoundingClientRect().left;
        }"""
    )


COLUMNS_APART = """() => {
    const places = [...document.querySelectorAll(".plot .xtick text")].map((label) => label.getBoundingClientRect().x);
    const steps = places.slice(1).map((place, i) => place - places[i]);
    return places.length > 1 && places.every((place) => place < 1024) && steps.every((step) => step >= 10);
}"""


def test_many_heads_find_room_and_another_precision_is_chosen(page: Page, place: Path):
    folder = place / "checkpoints" / "wide"
    save_model(folder, n_layers=12, n_heads=16, title="Wide", examples=PROMPTS, architecture="decoder_only")
    open_heads(page, "/heads?model=wide&text=" + "the+cat+" * 20)
    for size in (LAPTOP, PROJECTOR):
        page.set_viewport_size(size)
        wait(page)
        sizes = page.locator("button.head").evaluate_all(
            """all => all.map((it) => it.getBoundingClientRect())
              .map(({ width, height, right }) => [height / width, right])"""
        )
        around = box_of(page.locator(".overview"))
        assert len(sizes) == 12 * 16
        assert all(0.7 <= ratio <= 1.45 and right <= around["x"] + around["width"] for ratio, right in sizes)
    page.get_by_role("button", name="CPU, float32").click()
    page.get_by_text("bfloat16", exact=True).click()
    expect(page.get_by_role("button", name="CPU, bfloat16")).to_be_visible()
    page.wait_for_function(COLUMNS_APART)  # in one look: the figure is redrawn meanwhile
