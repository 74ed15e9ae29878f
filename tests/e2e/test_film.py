"""The page Film in a real browser: the film is played and moved along, and the page follows where it comes to rest."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Server, serve
from tests.e2e.test_take_away import open_menu, saved
from tests.pages.train.small_films import APPEARS_AT, save_run
from transformer_core.training.run.directory import RunDirectory

pytestmark = pytest.mark.browser
STEPS = (0, 1, 2, 3, 5, 8, 12, APPEARS_AT, 30, 45, 60)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with two runs of one shape, "first" and "second", and no model."""
    place = tmp_path_factory.mktemp("film")
    for seed, name in enumerate(("first", "second")):
        save_run(place / "runs" / name, seed=seed, steps=STEPS)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RUNS", "CHECKPOINTS", "CACHE"):
            patch.setenv(f"HEADLIGHT_{name}", str(place / name.lower()))
        with serve() as server:
            yield server


def open_film(page: Page, address: str) -> None:
    """Go there, and wait until the film can be played and the heatmap is drawn."""
    page.goto(address)
    expect(head(page, "Encoder self-attention L0.H0")).to_have_accessible_name(
        re.compile("Strongest: “.+” → “.+” [01]")
    )
    expect(title(page)).to_be_visible()


def head(page: Page, name: str) -> Locator:
    return page.locator(f"button.head[aria-label^='{name}.']")


def title(page: Page) -> Locator:
    """The title of the chosen head's heatmap."""
    return page.locator(".st-key-hl-film-heatmap .gtitle")


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Snapshot of the training")


def says_step(page: Page, step: int) -> None:
    """The slider, the heatmap and the URL are at this snapshot."""
    expect(slider(page)).to_have_attribute("aria-valuetext", re.compile(rf"^step {step},"))
    expect(title(page)).to_contain_text(f"after step {step}:")
    expect(page).to_have_url(re.compile(rf"[?&]snapshot={step}(&|$)"))


def pictures(page: Page) -> str:
    """What is painted of all heads."""
    return str(page.locator("canvas.pixels").evaluate("canvas => canvas.toDataURL()"))


PLAYED = r"""async (pictures) => {
  // Play; return what was painted, how often the server was asked before the end, the large head's titles and sums, and
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


def test_the_film_is_played_without_asking_the_server(page: Page):
    sent: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    open_film(page, "/film?run=first&snapshot=0&attention=decoder&layer=0&head=1")
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    sent.clear()
    seen, n_asked, titles, sums, wrong = page.locator("canvas.pixels").evaluate(PLAYED)
    assert len(seen) >= 3
    assert len(titles) >= 3, "the large head is played, too"
    assert {f"after step {step}:" for step in STEPS} >= {re.findall("after step .*:", title)[0] for title in titles}
    assert sums == [1.0], "each row of a pattern, however it came"
    assert n_asked == 0
    assert wrong == []
    says_step(page, 60)
    assert pictures(page) != seen[0]
    assert len(sent) == 1  # where it came to rest
    expect(page.get_by_text("Output after step 60")).to_be_visible()


TRACK = """root => {
  const { header, place, slider } = root.view.player;
  const bar = root.parentNode.querySelector(".film");
  return {
    header,
    place,
    slider: [slider.min, slider.max, slider.value].map(Number),
    lines: [...bar.querySelectorAll("polyline")].map((line) => [...line.points].map(({ x, y }) => [x, y])),
    cursor: Number(bar.querySelector(".cursor").getAttribute("x1")),
    marks: [...bar.querySelectorAll(".mark")].map(({ title, style }) => [title, style.left]),
    box: bar.querySelector(".lines").getAttribute("viewBox"),
    says: bar.querySelector(".snapshot").innerText,
  };
}"""


def test_the_track_shows_its_lines_marks_and_snapshot(page: Page):
    open_film(page, "/film?run=first&snapshot=20")
    expect(page.locator(".film .snapshot")).to_contain_text("step 20")
    track = page.locator(".overview").evaluate(TRACK)
    header, last = track["header"], len(track["header"]["steps"]) - 1
    assert header["steps"][track["place"]] == 20
    assert track["slider"] == [0, last, track["place"]] and track["cursor"] == track["place"]
    assert track["box"] == f"0 0 {last} 1"
    assert len(track["lines"]) == len(header["lines"]) > 0
    for points, line in zip(track["lines"], header["lines"], strict=True):
        lowest, highest = line["ends"]
        assert [x for x, _ in points] == list(range(last + 1))
        heights = [1 - (value - lowest) / (highest - lowest or 1) for value in line["values"]]  # y grows downwards
        assert [y for _, y in points] == pytest.approx(heights, abs=1e-5)
        value = line["values"][track["place"]]
        assert f"{line['name']} {value:.2f}" in track["says"] or value < 0.005
    places = {mark["words"]: mark["place"] for mark in header["marks"]}
    assert len(track["marks"]) == len(places)
    for title, left in track["marks"]:
        assert float(left.rstrip("%")) == pytest.approx(100 * places[title] / last, abs=0.01)


def test_the_slider_works_from_the_keyboard(page: Page):
    open_film(page, "/film?run=first&snapshot=20")
    slider(page).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    says_step(page, 8)
    page.keyboard.press("Home")
    says_step(page, 0)
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.keyboard.press("End")
    says_step(page, 60)


def test_a_dragged_slider_tells_the_page_where_it_is_let_go(page: Page):
    open_film(page, "/film?run=first&snapshot=0")
    box = slider(page).bounding_box()
    assert box is not None
    x = [box["x"] + 7 + (box["width"] - 14) * place / (len(STEPS) - 1) for place in range(len(STEPS))]
    y = box["y"] + box["height"] / 2
    page.mouse.move(x[0], y)
    page.mouse.down()
    page.mouse.move(x[6], y, steps=6)
    expect(slider(page)).to_have_attribute("aria-valuetext", re.compile("^step 12,"))
    expect(title(page)).to_contain_text("after step 12:")  # as its small picture has it
    page.mouse.up()
    says_step(page, 12)


def test_a_head_is_chosen_at_a_snapshot_and_nothing_jumps(page: Page):
    open_film(page, "/film?run=first&snapshot=20&attention=encoder&layer=0&head=0")
    expect(page.locator(".st-key-hl-film-below .main-svg").first).to_be_visible()
    page.evaluate(
        """() => {
          window.plot = document.querySelector(".st-key-hl-film-heatmap .plot");
          window.shifts = [];
          new PerformanceObserver((list) => window.shifts.push(...list.getEntries().map((entry) => entry.value)))
            .observe({ type: "layout-shift" });
        }"""
    )
    slider(page).focus()
    page.keyboard.press("ArrowRight")
    says_step(page, 30)
    head(page, "Cross-attention L1.H2").click()
    expect(title(page)).to_contain_text("cross-attention L1.H2")
    expect(head(page, "Cross-attention L1.H2")).to_have_attribute("aria-pressed", "true")
    says_step(page, 30)
    assert page.evaluate("window.plot.isConnected")
    assert page.evaluate("window.shifts") == []


def test_an_appearance_brings_its_snapshot_and_head(page: Page):
    open_film(page, "/film?run=first&snapshot=60&attention=encoder&layer=0&head=0")
    page.get_by_role("button", name=f"step {APPEARS_AT} previous token").click()
    says_step(page, APPEARS_AT)
    expect(title(page)).to_contain_text("decoder self-attention L0.H1")
    expect(head(page, "Decoder self-attention L0.H1")).to_have_attribute("aria-pressed", "true")
    slider(page).focus()
    page.keyboard.press("Home")
    says_step(page, 0)
    page.locator("button.mark").click()
    says_step(page, APPEARS_AT)
    page.go_back()
    says_step(page, 0)


@pytest.fixture
def growing(server: Server) -> Iterator[RunDirectory]:
    """A third run, which this process works on."""
    folder = Path(os.environ["HEADLIGHT_RUNS"]) / "growing"
    save_run(folder, seed=2, steps=STEPS)
    directory = RunDirectory.open(folder)
    directory.claim()
    directory.write_status("running", step=60)
    yield directory
    directory.release()
    shutil.rmtree(folder)


def test_a_new_snapshot_is_taken_in_when_a_person_asks(page: Page, growing: RunDirectory):
    open_film(page, "/film?run=growing&snapshot=8&attention=encoder&layer=0&head=0")
    expect(page.get_by_text("growing is training: step 60 of 60")).to_be_visible()
    growing.film.add(61, growing.film.load(45)[0])
    new = page.get_by_role("button", name="Load 1 new snapshot")
    expect(new).to_be_visible()
    says_step(page, 8)  # until then what one looks at stays
    new.click()
    expect(slider(page)).to_have_attribute("aria-valuetext", re.compile("^step 61,"))
    expect(new).to_have_count(0)
    growing.write_status("finished", step=61)
    expect(page.get_by_text("is being trained")).to_have_count(0)


def test_another_text_is_read_at_the_same_snapshot(page: Page):
    open_film(page, "/film?run=first&snapshot=8&attention=encoder&layer=1&head=0")
    before = pictures(page)
    box = page.get_by_label("Text", exact=True)
    box.click()
    box.fill("The dog sees the cat.")
    box.press("Enter")
    expect(page).to_have_url(re.compile("text=The.dog.sees.the.cat"))
    labels = page.locator(".st-key-hl-film-heatmap .xtick text")
    expect(labels).to_have_text(["The", "dog", "sees", "the", "cat", ".", "<eos>"])
    says_step(page, 8)
    assert pictures(page) != before


def test_a_link_opens_the_same_comparison(page: Page):
    open_film(page, "/film?run=first&snapshot=30&attention=cross&layer=1&head=3")
    page.get_by_text("Two trainings", exact=True).click()
    expect(page.get_by_text("matched by their patterns")).to_be_visible()
    expect(page.locator(".st-key-hl-film-seeds .gtitle")).to_have_count(3)
    titles = page.locator(".st-key-hl-film-seeds .gtitle").all_text_contents()
    expect(page).to_have_url(re.compile("other=second"))
    address = page.url
    page.goto("about:blank")
    open_film(page, address)
    expect(page.locator(".st-key-hl-film-seeds .gtitle")).to_have_text(titles)


def test_picture_and_numbers_can_be_saved(page: Page):
    open_film(page, "/film?run=first&snapshot=8&attention=encoder&layer=0&head=0")
    figure = page.locator(".st-key-hl-film-heatmap .figure")
    open_menu(figure)
    for kind, start in {"SVG": b"<svg", "CSV": b"query,"}.items():
        name, content = saved(figure, kind)
        assert name == f"first-step8-encoder-layer0-head0.{kind.lower()}"
        assert content.startswith(start)


STYLES = """n => n === [...document.head.querySelectorAll("style")].filter(
  ({ textContent }) => textContent.startsWith(".hl-of-snapshot")).length"""


def test_what_hides_the_words_of_other_snapshots_leaves_with_the_film(page: Page):
    open_film(page, "/film?run=first&snapshot=20")
    page.wait_for_function(STYLES, arg=1)
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Models").click()
    expect(page.get_by_role("heading", name="Models", level=1)).to_be_visible()
    page.wait_for_function(STYLES, arg=0)
