"""The frame and the page Heads with models of all three architectures, in a real Chromium."""

import os
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import Server, serve
from tests.e2e.test_heads import head, heads, open_heads, title, view_of
from tests.pages.conftest import EXAMPLES, GAPS, PROMPTS, save_model

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app over small models with random weights, one of each kind and one with many heads."""
    folder = tmp_path_factory.mktemp("checkpoints")
    save_model(folder / "en-fr", n_layers=2, n_heads=4, title="English to French", examples=EXAMPLES)
    save_model(folder / "gaps", n_layers=3, n_heads=2, title="Gaps", examples=GAPS, architecture="encoder_only")
    save_model(folder / "tales", n_layers=1, n_heads=4, title="Tales", examples=PROMPTS, architecture="decoder_only")
    save_model(folder / "wide", n_layers=12, n_heads=16, title="Wide", examples=PROMPTS, architecture="decoder_only")
    before = os.environ.get("HEADLIGHT_CHECKPOINTS")
    os.environ["HEADLIGHT_CHECKPOINTS"] = str(folder)
    try:
        with serve() as server:
            yield server
    finally:
        del os.environ["HEADLIGHT_CHECKPOINTS"]
        if before is not None:
            os.environ["HEADLIGHT_CHECKPOINTS"] = before


def choose_model(page: Page, name: str) -> None:
    """Choose a model in the bar."""
    page.locator(".st-key-hl-bar").get_by_test_id("stSelectbox").get_by_role("combobox").click()
    page.get_by_role("option", name=name).click()


def type_into(page: Page, label: str, text: str) -> None:
    """Type a text into a box and press Enter."""
    box = page.get_by_label(label, exact=True)
    box.click()
    box.fill(text)
    box.press("Enter")


def test_from_kind_to_kind(page: Page, new_page: Callable[..., Page]):
    open_heads(page)
    choose_model(page, "Tales")
    expect(page.get_by_label("Prompt", exact=True)).to_have_value(PROMPTS[0])
    expect(title(page)).to_have_text("Attention pattern: decoder self-attention L0.H0")
    expect(heads(page)).to_have_count(4)
    expect(page.locator(".hl-answer")).to_have_text(re.compile("…"))
    choose_model(page, "Gaps")
    expect(page.get_by_label("Text with blanks", exact=True)).to_have_value(GAPS[0])
    expect(page.locator(".hl-candidates div")).to_have_count(1)
    type_into(page, "Text with blanks", "The ____ sees the ____.")
    expect(page.locator(".hl-candidates div")).to_have_count(2)
    head(page, "Encoder self-attention L1.H1").click()
    expect(title(page)).to_have_text("Attention pattern: encoder self-attention L1.H1")
    expect(page).to_have_url(re.compile("attention=encoder&layer=1&head=1"))

    other = new_page()
    open_heads(other, page.url)
    expect(other.get_by_label("Text with blanks", exact=True)).to_have_value("The ____ sees the ____.")
    expect(other.locator(".hl-candidates")).to_have_text(page.locator(".hl-candidates").text_content() or "")
    assert view_of(other) == view_of(page)


def test_a_target_is_typed_and_given_up_again(page: Page):
    open_heads(page, "/heads?text=The+cat+sleeps.")
    own = page.locator(".hl-answer").text_content() or ""
    page.get_by_role("button", name="Edit the target").click()
    expect(page.get_by_label("Target", exact=True)).to_have_value(own)
    type_into(page, "Target", "Le chien <b>.")
    rows = page.locator(".plot .ytick text")
    expect(rows).to_have_text(["<bos>", "Le", "chien", "<unk> <", "<unk> b", "<unk> >", "."])
    expect(page).to_have_url(re.compile("target="))
    page.reload()
    expect(page.get_by_label("Target", exact=True)).to_have_value("Le chien <b>.")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".hl-answer")).to_have_text(own)
    expect(page).not_to_have_url(re.compile("target="))


@pytest.mark.parametrize(("model", "width"), [("tales", 1440), ("wide", 1440), ("wide", 1024)])
def test_all_heads_find_room_side_by_side(new_page: Callable[..., Page], model: str, width: int):
    """A row per layer where they fit; all columns in sight where there are many; as high as wide, or nearly."""
    page = new_page(viewport={"width": width, "height": 900})
    open_heads(page, f"/heads?model={model}")
    boxes = [box for box in (button.bounding_box() for button in heads(page).all()) if box]
    around = page.locator(".overview").bounding_box()
    assert around and len(boxes) == (4 if model == "tales" else 12 * 16)
    assert all(0.7 <= box["height"] / box["width"] <= 1.45 for box in boxes)
    assert all(box["x"] + box["width"] <= around["x"] + around["width"] for box in boxes)
    if model == "tales":
        assert min(box["width"] for box in boxes) > 80
        assert len({box["y"] for box in boxes}) == 1
        page.set_viewport_size({"width": 1100, "height": 900})
        expect(heads(page)).to_have_count(4)
        expect(head(page, "Decoder self-attention L0.H0")).to_have_attribute("aria-pressed", "true")


def test_the_keyboard_follows_what_is_seen(page: Page):
    """The four heads of a layer stand in one row."""
    open_heads(page, "/heads?model=tales&layer=0&head=0")
    head(page, "Decoder self-attention L0.H0").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(title(page)).to_have_text("Attention pattern: decoder self-attention L0.H3")


def test_precision_is_chosen_and_labels_of_columns_do_not_crowd(page: Page):
    open_heads(page, "/heads?model=wide&text=" + "the+cat+" * 20)
    page.get_by_role("button", name="CPU, float32").click()
    page.get_by_text("bfloat16", exact=True).click()
    expect(page.get_by_role("button", name="CPU, bfloat16")).to_be_visible()
    page.set_viewport_size({"width": 1024, "height": 768})
    page.wait_for_function(COLUMNS_APART)


# One look at all labels at once: the figure is drawn anew for its new width, so labels read one by one may be gone.
COLUMNS_APART = """() => {
    const places = [...document.querySelectorAll(".plot .xtick text")].map((label) => label.getBoundingClientRect().x);
    const steps = places.slice(1).map((place, i) => place - places[i]);
    return places.length > 1 && places.every((place) => place < 1024) && steps.every((step) => step >= 10);
}"""
