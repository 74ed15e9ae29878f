"""The Film page in a real browser: the film is played and moved along, and the page follows where it comes to rest."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import STEPS
from tests.e2e.looking import wait
from tests.pages.train.small_films import save_run
from transformer_core.training.run.directory import RunDirectory


def open_film(page: Page, query: str) -> None:
    """Go there, and wait until the film can be played and the heatmap is drawn."""
    page.goto(f"/film?{query}")
    expect(head(page, "Encoder self-attention L0.H0")).to_have_accessible_name(
        re.compile("Strongest: “.+” → “.+” [01]")
    )
    expect(title(page)).to_be_visible()
    wait(page)


def head(page: Page, name: str) -> Locator:
    return page.locator(f"button.head[aria-label^='{name}.']")


def title(page: Page) -> Locator:
    """The title of the chosen head's heatmap."""
    return page.locator(".st-key-hl-film-heatmap .gtitle")


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Snapshot of the training")


def is_at(page: Page, step: int) -> None:
    """The slider, the heatmap and the URL are at this snapshot."""
    expect(slider(page)).to_have_attribute("aria-valuetext", re.compile(rf"^step {step},"))
    expect(title(page)).to_contain_text(f"after step {step}:")
    expect(page).to_have_url(re.compile(rf"[?&]snapshot={step}(&|$)"))


PLAYED = r"""async (pictures) => {
  // Play; return the painted frames, the server's requests before the end, the large head's titles and sums, and
  // the words about another snapshot that were to be seen.
  const large = document.querySelector(".st-key-hl-film-heatmap .plot");
  const titles = new Set(), sums = new Set(), wrong = new Set();
  const button = pictures.getRootNode().querySelector("button.play");
  const send = WebSocket.prototype.send;
  const seen = new Set([pictures.toDataURL()]);
  let n_asked = 0;
  WebSocket.prototype.send = function (message) {
    n_asked += button.classList.contains("playing");
    return send.call(this, message);
  };
  button.click();
  while (button.classList.contains("playing")) {
    seen.add(pictures.toDataURL());
    titles.add(large.querySelector(".gtitle").textContent);
    const now = button.getRootNode().querySelector("input.slider").getAttribute("aria-valuetext").split(",")[0];
    for (const label of document.querySelectorAll(".st-key-hl-film-bar .hl-label, .hl-look b")) {
      const [about] = label.textContent.match(/step \d+/) ?? [now];
      if (about !== now && label.checkVisibility({ visibilityProperty: true })) wrong.add(label.textContent);
    }
    const { z } = large.data.find(({ name }) => name === "attention");
    for (const row of z) sums.add(Number.parseFloat(row.reduce((sum, weight) => sum + (weight || 0), 0).toFixed(1)));
    await new Promise((done) => setTimeout(done, 20));
  }
  WebSocket.prototype.send = send;
  return [[...seen], n_asked, [...titles], [...sums], [...wrong]];
}"""
STYLES = """n => n === [...document.head.querySelectorAll("style")].filter(
  ({ textContent }) => textContent.startsWith(".hl-of-snapshot")).length"""


@pytest.mark.full
def test_the_film_is_played_without_asking_the_server(page: Page):
    sent: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    open_film(page, "run=first&snapshot=0&attention=decoder&layer=0&head=1")
    sent.clear()
    pictures = page.locator("canvas.pixels")
    seen, n_asked, titles, sums, wrong = pictures.evaluate(PLAYED)
    assert len(seen) >= 3 and len(titles) >= 3  # the large head is played, too
    assert {f"after step {step}:" for step in STEPS} >= {re.findall("after step .*:", title)[0] for title in titles}
    assert sums == [1.0]  # of each row of a pattern, also where it comes as a picture
    assert (n_asked, wrong) == (0, [])
    is_at(page, 60)
    assert pictures.evaluate("canvas => canvas.toDataURL()") != seen[0]
    assert len(sent) == 1  # where it came to rest
    page.wait_for_function(STYLES, arg=1)  # what hides the words of other snapshots
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Models").click()
    expect(page.get_by_role("heading", name="Models", level=1)).to_be_visible()
    page.wait_for_function(STYLES, arg=0)


def test_a_new_snapshot_is_taken_in_when_a_person_asks(page: Page, place: Path):
    save_run(place / "runs" / "growing", seed=2, steps=STEPS)
    growing = RunDirectory.open(place / "runs" / "growing")
    growing.claim()
    growing.write_status("running", step=60)
    try:
        open_film(page, "run=growing&snapshot=8&attention=encoder&layer=0&head=0")
        expect(page.get_by_text("growing is training: step 60 of 60")).to_be_visible()
        growing.film.add(61, growing.film.load(45)[0])
        new = page.get_by_role("button", name="Load 1 new snapshot")
        expect(new).to_be_visible()
        is_at(page, 8)  # until then what one looks at stays
        new.click()
        expect(slider(page)).to_have_attribute("aria-valuetext", re.compile("^step 61,"))
        growing.write_status("finished", step=61)
        expect(page.get_by_text("growing is training")).to_have_count(0)
    finally:
        growing.write_status("finished", step=61)  # no process is to be stopped
        growing.release()
