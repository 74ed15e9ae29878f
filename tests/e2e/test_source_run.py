"""Dragging from the source run in a real Chromium: what is dropped is patched, and only what was shaded changes."""

import numpy as np
import torch
from playwright.sync_api import Locator, Page, expect

import transformer_core as tc
from headlight.analysis.interventions.base import read_base
from headlight.analysis.interventions.context import prepare
from headlight.analysis.interventions.records import InterventionStack
from headlight.analysis.interventions.stacks import from_json
from tests.e2e.browser import ROOT
from tests.e2e.looking import box_of, faults, open_address, wait
from transformer_core.instrument.capture import capture

TEXT = "The animal didn't cross the street because it was too tired."
IL = "L'animal n'a pas traversé la rue parce qu'il était trop fatigué."
ELLE = "L'animal n'a pas traversé la rue parce qu'elle était trop fatiguée."


def cell(page: Page, board: int, row: int, column: int) -> Locator:
    return page.locator(f'.there .from[data-board="{board}"][data-row="{row}"][data-column="{column}"]')


def drag(page: Page, source: Locator) -> list[tuple[int, int, int]]:
    """Drag something onto the text; return the cells that are shaded meanwhile: board, row and column."""
    target = page.locator(".source_run .here").first
    target.scroll_into_view_if_needed()
    start, end = box_of(source), box_of(target)
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


def stack_of(page: Page) -> InterventionStack:
    actual: str = page.evaluate("new URLSearchParams(location.search).get('stack')")
    return from_json(actual)


def changed_heads(page: Page) -> set[tuple[int, int, int]]:
    """Where the stack of the address changes the output of a head: board, row and column, as on the page."""
    model, tokenizer = tc.load(ROOT / "checkpoints" / "en-fr")
    base = read_base(model, tokenizer, TEXT)
    inputs = [torch.tensor([ids]) for ids in base.run.inputs]
    results = set()
    with torch.inference_mode(), capture(model, "*.hook_z") as before:
        model(*inputs)
    with (
        torch.inference_mode(),
        prepare(model, tokenizer, stack_of(page), run=base.run).active(),
        capture(model, "*.hook_z") as after,
    ):
        model(*inputs)
    for name, there in after.items():
        stack, _, layer, attention, _ = name.split(".")
        change = (there - before[name])[0].abs().amax(dim=-1)  # [head, pos]
        board, per_layer = (0, 4) if stack == "encoder" else (1, 8)
        row = int(layer) * per_layer + (4 if attention == "cross_attn" else 0)
        results |= {(board, row + int(head), int(place)) for head, place in np.argwhere(change.numpy() > 1e-5)}
    return results


def test_a_dragged_cell_turns_il_into_elle_and_only_its_cone_changes_also_in_the_decoder(page: Page):
    open_address(page, "interventions?model=en-fr&view=source&add=patch")
    outputs = page.locator(".hl-interventions-outputs bdi")
    cone = drag(page, cell(page, 0, 4, 7))  # encoder L1.H0 at "it"
    expect(outputs.nth(1)).to_have_text(ELLE)
    assert outputs.nth(0).inner_text() == IL
    expect(page.locator(".stack_list .entry").first).to_contain_text("L1.H0 at position 7")
    assert (0, 4, 7) in changed_heads(page) <= {*cone}
    assert {place for place in cone if place[0] == 0} == {(0, 4, 7)}  # it is in the last layer of the encoder
    page.get_by_role("button", name="Undo").click()
    expect(outputs).to_have_text([IL])
    wait(page)
    assert not faults(page)
    place = 12  # where the source run reads "elle"
    cone = drag(page, cell(page, 1, 1, place - 1))  # decoder self-attention L0.H1
    expect(page.locator(".stack_list .entry")).to_have_count(1)
    wait(page)
    changed = changed_heads(page)
    assert changed <= {*cone} and {column for _, _, column in cone} == {*range(place - 1, 16)}
    assert {board for board, _, _ in cone} == {1}
