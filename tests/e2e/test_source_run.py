"""Dragging from the source run in a real Chromium: what is dropped is patched, and only what was shaded changes."""

import re
from urllib.parse import quote

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page, expect

import transformer_core as tc
from tests.e2e.looking import faults, open_address, wait
from transformer_core.analysis.interventions import CellEdit, Patch, Stack, applied, from_json, read_base
from transformer_core.instrument.capture import capture

pytestmark = pytest.mark.browser
TEXT = "The animal didn't cross the street because it was too tired."
IL = "L'animal n'a pas traversé la rue parce qu'il était trop fatigué."
ELLE = "L'animal n'a pas traversé la rue parce qu'elle était trop fatiguée."


def cell(page: Page, board: int, row: int, column: int) -> Locator:
    return page.locator(f'.there .from[data-board="{board}"][data-row="{row}"][data-column="{column}"]')


def drag(page: Page, source: Locator) -> list[tuple[int, int, int]]:
    """Drag something onto the text; return the cells that are shaded meanwhile: board, row and column."""
    target = page.locator(".source_run .here").first
    target.scroll_into_view_if_needed()
    start, end = source.bounding_box(), target.bounding_box()
    assert start and end
    page.mouse.move(start["x"] + 4, start["y"] + 4)
    page.mouse.down()
    page.mouse.move(start["x"] + 30, start["y"] + 12, steps=3)
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=5)
    expect(page.locator(".ghost")).to_be_visible()
    cone: list[list[int]] = page.locator(".here .cell.cone, .here .cell.lands").evaluate_all(
        "cells => cells.map(({ dataset }) => [dataset.board, dataset.row, dataset.column].map(Number))"
    )
    page.mouse.up()
    return [(board, row, column) for board, row, column in cone]


def stack_of(page: Page) -> Stack:
    found: str = page.evaluate("new URLSearchParams(location.search).get('stack')")
    return from_json(found)


def changed_heads(page: Page) -> set[tuple[int, int, int]]:
    """Where the stack of the address changes the output of a head: board, row and column, as they stand on the page."""
    model, tokenizer = tc.load("checkpoints/en-fr")
    base = read_base(model, tokenizer, TEXT)
    inputs = [torch.tensor([ids]) for ids in base.run.inputs]
    found = set()
    with torch.inference_mode(), capture(model, "*.hook_z") as before:
        model(*inputs)
    with (
        torch.inference_mode(),
        applied(model, tokenizer, stack_of(page), run=base.run),
        capture(model, "*.hook_z") as after,
    ):
        model(*inputs)
    for name, there in after.items():
        stack, _, layer, attention, _ = name.split(".")
        change = (there - before[name])[0].abs().amax(dim=-1)  # [head, pos]
        board, per_layer = (0, 4) if stack == "encoder" else (1, 8)
        row = int(layer) * per_layer + (4 if attention == "cross_attn" else 0)
        found |= {(board, row + int(head), int(place)) for head, place in np.argwhere(change.numpy() > 1e-5)}
    return found


def test_one_cell_of_a_head_turns_il_into_elle_and_only_its_cone_changes(page: Page):
    open_address(page, "interventions?model=en-fr&view=source&add=patch")
    outputs = page.locator(".hl-interventions-outputs bdi")
    cone = drag(page, cell(page, 0, 4, 7))  # encoder L1.H0 at "it"
    expect(outputs.nth(1)).to_have_text(ELLE)
    assert outputs.nth(0).inner_text() == IL
    expect(page.locator(".stack_list .entry").first).to_contain_text("L1.H0 at position 7")
    assert (0, 4, 7) in changed_heads(page) <= {*cone}
    assert {place for place in cone if place[0] == 0} == {(0, 4, 7)}  # it is in the last layer of the encoder
    page.get_by_role("button", name="Undo").click()
    expect(outputs.nth(1)).to_have_text(IL)
    wait(page)
    assert not faults(page)


def test_in_the_decoder_nothing_before_a_patch_changes(page: Page):
    open_address(page, "interventions?model=en-fr&view=source&add=patch")
    place = 12  # where the source run reads "elle"
    cone = drag(page, cell(page, 1, 1, place - 1))  # decoder self-attention L0.H1
    expect(page.locator(".stack_list .entry")).to_have_count(1)
    wait(page)
    changed = changed_heads(page)
    assert changed <= {*cone} and {column for _, _, column in cone} == {*range(place - 1, 16)}
    assert {board for board, _, _ in cone} == {1}


def test_a_weight_is_dragged_into_a_cell_and_a_row_of_components_by_keyboard(page: Page):
    open_address(page, "interventions?model=en-fr&view=source&add=patch&attention=encoder&layer=1&head=0")
    page.get_by_text("Cells of the pattern", exact=True).click()
    wait(page)
    drag(page, cell(page, 0, 7, 5))  # it → street, where the source run looks
    expect(page.locator(".stack_list .entry").first).to_contain_text(re.compile(r"set cell 7 → 5 .* to 0\.9"))
    (edit,) = stack_of(page).entries
    assert isinstance(edit, CellEdit)
    assert edit == CellEdit(
        attention="encoder", layer=1, heads=(0,), cells=((7, 5),), operation="set", number=edit.number, renormalize=True
    )
    expect(page.locator(".hl-interventions-outputs bdi").nth(1)).to_contain_text("qu'elle")
    wait(page)
    name = page.locator('.there .label.from[data-board="1"][data-row="0"]')
    name.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".stack_list .entry")).to_have_count(2)
    patch = stack_of(page).entries[1]
    assert isinstance(patch, Patch)
    part = patch.component
    assert (part.kind, part.attention, part.layer, part.positions) == ("attention", "encoder", 1, None)


def test_the_tokens_of_long_texts_do_not_lie_on_each_other(page: Page):
    end = "and the dog didn't see the big cat near the old house."
    open_address(page, f"interventions?model=en-fr&view=source&add=patch&text={quote(f'{TEXT[:-1]} {end}')}")
    expect(page.locator(".source_run .there .column").first).to_be_attached()
    assert not faults(page)
