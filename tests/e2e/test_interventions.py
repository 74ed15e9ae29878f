"""The Interventions page in a real Chromium: ablate, edit a cell, undo, reorder, share, and run what is exported."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.conftest import PROJECTOR
from tests.e2e.looking import box_of, faults, open_address, see_canvases, wait


def add(page: Page) -> None:
    page.get_by_role("button", name="Add to the stack").click()


def outputs(page: Page) -> list[str]:
    """What the unchanged model writes, and the changed one."""
    return page.locator(".hl-interventions-outputs bdi").all_inner_texts()


def test_a_pronoun_flips_and_the_stack_is_moved_undone_and_shared(page: Page, new_page: Callable[..., Page]):
    open_address(see_canvases(page), "interventions?model=en-fr&attention=encoder&layer=1&head=0")
    plain = "L'animal n'a pas traversé la rue parce qu'il était trop fatigué."
    flipped = plain.replace("qu'il", "qu'elle").replace("fatigué", "fatiguée")
    expect(page.get_by_text("No intervention yet")).to_be_visible()
    add(page)  # resampled from the first other example, where the street is too wide
    expect(page.locator(".hl-interventions-outputs")).to_contain_text("With the stack (changed)")
    assert outputs(page) == [plain, flipped]
    pattern = page.locator('[class*="st-key-interventions-pattern-before"] .nsewdrag')
    pattern.click(position={"x": 60, "y": 60})
    expect(page).to_have_url(re.compile(r"cell=\d+\.\d+"))
    expect(page.get_by_text("Rescale the rest of the row")).to_be_visible()
    add(page)
    rows = page.locator(".stack_list .entry")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("resample-ablate encoder self-attention L1.H0")
    rows.nth(1).locator(".handle").drag_to(rows.first.locator(".handle"))
    expect(rows.first).to_contain_text("set cell")
    page.get_by_role("button", name="Undo").click()
    expect(rows.first).to_contain_text("resample-ablate")
    page.get_by_role("button", name="Undo").click()
    expect(rows).to_have_count(1)
    wait(page)
    assert outputs(page) == [plain, flipped] and not faults(page)
    other = new_page()
    other.goto(page.url)
    expect(other.locator(".stack_list .entry")).to_have_count(1)
    expect(other.locator(".hl-interventions-outputs")).to_contain_text(flipped)


def test_a_stack_is_saved_and_loaded_and_acts_on_the_next_page_for_nobody_else(
    page: Page, new_page: Callable[..., Page], tmp_path: Path
):
    open_address(page, "interventions?model=en-fr&attention=encoder&layer=1&head=0")
    add(page)
    rows = page.locator(".stack_list .entry")
    expect(rows).to_have_count(1)
    wait(page)
    page.get_by_role("button", name="File").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the stack").click()
    download.value.save_as(tmp_path / "saved.json")
    (entry,) = json.loads((tmp_path / "saved.json").read_text(encoding="utf-8"))["headlight-interventions"]
    assert entry["component"] == {"kind": "head", "attention": "encoder", "layer": 1, "heads": [0]}
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    expect(rows).to_have_count(0)
    page.get_by_role("button", name="File").click()
    page.locator(".st-key-interventions-file input").set_input_files(tmp_path / "saved.json")
    page.get_by_role("button", name="Use this stack").click()
    expect(rows).to_have_count(1)
    expect(page.locator(".hl-interventions-outputs")).to_contain_text("(changed)")
    wait(page)
    page.get_by_role("link", name="Heads").click()
    expect(page.get_by_text("1 intervention active")).to_be_visible()
    answer = page.locator(".st-key-hl-answer")
    expect(answer).to_contain_text("qu'elle")
    other = new_page()
    open_address(other, "heads?model=en-fr")
    expect(other.locator(".st-key-hl-answer")).to_contain_text("qu'il")
    expect(other.get_by_text("intervention active")).to_have_count(0)
    page.get_by_role("button", name="Turn off").click()
    expect(answer).to_contain_text("qu'il")
    expect(page.get_by_text("intervention active")).to_have_count(0)


def test_on_a_projector_a_sweep_fills_its_map_and_a_change_is_in_sight_while_one_adds(new_page: Callable[..., Page]):
    page = new_page(viewport=PROJECTOR)
    open_address(see_canvases(page), "interventions?model=en-fr&view=sweep&token=10")
    page.get_by_role("button", name="Run the sweep").click()
    expect(page.get_by_text("Head outputs, cross-attention: Δ logit difference")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Run the sweep")).to_be_visible(timeout=120_000)
    wait(page)
    assert not faults(page)
    open_address(page, "interventions?model=en-fr&attention=encoder&layer=1&head=0")
    button = page.get_by_role("button", name="Add to the stack")
    button.evaluate("(button) => button.scrollIntoView({ block: 'end' })")
    add(page)
    entry = page.locator(".stack_list .entry").first
    expect(entry).to_be_visible()
    wait(page)
    button.evaluate("(button) => button.scrollIntoView({ block: 'end' })")
    tops = [box_of(part)["y"] for part in (page.locator(".hl-interventions-outputs"), entry, button)]
    assert 0 <= tops[0] < tops[1] < tops[2] < 768
    expect(page.locator('[class*="st-key-interventions-tokens"] .barlayer')).to_be_in_viewport(ratio=1)
