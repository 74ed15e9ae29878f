// The player of a film: its pictures come once, are shown at once while a person moves along them or plays them, and the
// server hears where it comes to rest.

import assert from "node:assert/strict";
import { test } from "node:test";

import { setTheme } from "../../dom.js";
import { packed } from "../../packed.js";
import { bytesOf, GROUPS, headerOf, headsOf, isPainted, lay, overviewOf, patternsOf } from "./heads.js";
import receive from "../../../../pages/components/overview/film.js";
import { shownHead } from "../../../../headlight/components/kit/channel.js";

const STEPS = [0, 10, 250, 3000];
const SETTLED = 200; // ms, after which nobody doubts that the slider rests
const HEADS = headsOf(GROUPS);
const bare = GROUPS.map(({ attention, title, layers, heads, queries, keys }) => ({ attention, title, layers, heads, queries, keys }));
const words = (letter, n) => Array.from({ length: n }, (_, i) => `${letter}${i}`);
const LABELS = { encoder: { queries: words("a", 4), keys: words("b", 4) }, cross: { queries: words("c", 5), keys: words("d", 3) } };

const filmOf = (id, more = {}) => ({
  ...{ id, steps: STEPS, step: { revision: 1, value: 10 }, labels: LABELS, color: "#ff8800" },
  ...{ lines: [{ name: "loss", values: [4, 3, 2, 1], ends: [0, 4] }, { name: "share", values: [0, 0.001, 0.5, 1], ends: [0, 1] }] },
  ...{ marks: [{ place: 2, words: "heads form" }, { place: 3, words: "the end" }], ...more },
});
const dataOf = (film, more = {}) => packed(headerOf({ groups: bare, version: film.id, film, ...more }));

/** The strongest query, key and hundredths of the head of a snapshot, other ones each. */
const cellOf = (at, head, { rows, columns }) => [(at + head) % rows, (2 * at + head) % columns, 10 * at + head];

function send(id, { seed = 3, nFrames = STEPS.length } = {}) {
  const frames = Array.from({ length: nFrames }, (_, at) => bytesOf(GROUPS, seed + at));
  const cells = Uint16Array.from(frames.flatMap((_, at) => HEADS.flatMap((head, i) => cellOf(at, i, head))));
  const rest = [...new Uint8Array(cells.buffer), ...frames.flatMap((frame) => [...frame])];
  receive({ data: packed({ id, frames: nFrames, groups: bare }, rest) });
}

const isAt = (overview, at, { seed = 3, theme = "light" } = {}) => {
  const patterns = patternsOf(GROUPS, bytesOf(GROUPS, seed + at));
  return HEADS.every((head, i) => isPainted(overview, head, patterns[i], theme));
};
const saysPlace = (overview, at) =>
  HEADS.every((head, i) => {
    const [query, key, hundredths] = cellOf(at, i, head);
    const { queries, keys } = LABELS[head.attention];
    const strongest = `Strongest: “${queries[query]}” → “${keys[key]}” ${(hundredths / 100).toFixed(2)}`;
    return overview.button(head.attention, head.layer, head.head).getAttribute("aria-label").includes(strongest);
  });

/** An overview with a film, and its player's parts. */
function filmed(film, more = {}) {
  const overview = overviewOf({ groups: bare, version: film.id, film, ...more });
  const shadow = overview.root.getRootNode();
  const find = (selector) => shadow.querySelector(selector);
  lay({ ...overview, find });
  return { ...overview, find, slider: find("input.slider"), play: find(".player .play") };
}

function move(player, value) {
  player.slider.value = value;
  player.slider.dispatchEvent(new Event("input"));
}

function rest(player) {
  player.slider.dispatchEvent(new Event("change"));
}

/** What each test begins with: a clock, and what is shown large elsewhere. */
function begin(t) {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const large = [];
  const over = new AbortController();
  shownHead.listen((head) => large.push(head), over.signal);
  t.after(() => over.abort());
  return { tick: (ms) => t.mock.timers.tick(ms), large };
}

test("the chosen snapshot is shown and named, whichever comes first, the overview or its pictures", (t) => {
  begin(t);
  for (const [id, isLate] of [["early", false], ["late", true]]) {
    if (!isLate) send(id);
    const player = filmed(filmOf(id));
    if (isLate) {
      send("another");
      assert.ok(!isAt(player, 1));
      send(id);
    }
    assert.ok(isAt(player, 1) && saysPlace(player, 1), id);
    assert.equal(player.slider.value, "1");
    setTheme("dark");
    assert.ok(isAt(player, 1, { theme: "dark" }));
    setTheme("light");
    player.leave();
  }
});

test("moving along shows each snapshot at once, and where it rests is named and told, once", (t) => {
  const { tick, large } = begin(t);
  send("moved");
  const player = filmed(filmOf("moved"));
  move(player, 2);
  assert.ok(isAt(player, 2));
  assert.ok(saysPlace(player, 1)); // a screen reader does not announce each
  move(player, 3);
  assert.ok(isAt(player, 3));
  assert.deepEqual(large.map(({ attention, layer, head, step }) => [attention, layer, head, step]), [["encoder", 0, 1, 250], ["encoder", 0, 1, 3000]]);
  tick(1000);
  assert.deepEqual(player.told, []); // the slider is still held
  move(player, 2);
  rest(player);
  tick(SETTLED);
  assert.deepEqual(player.told, [["snapshot", { revision: 2, value: 250 }]]);
  assert.ok(saysPlace(player, 2));
});

test("the track says where it is: the step, the numbers of its lines, and the marks along it", (t) => {
  begin(t);
  const player = filmed(filmOf("track"));
  const { find, slider } = player;
  const says = () => [slider.getAttribute("aria-valuetext"), [...find(".snapshot").children].map(({ textContent }) => textContent)];
  assert.deepEqual(says(), ["step 10, loss 3.00, share below 0.01", ["step 10", "loss 3.00", "share below 0.01"]]);
  move(player, 3);
  assert.deepEqual(says(), ["step 3,000, loss 1.00, share 1.00", ["step 3,000", "loss 1.00", "share 1.00"]]);
  assert.equal(find(".line-0").getAttribute("points"), "0,0 1,0.25 2,0.5 3,0.75");
  const marks = [...player.root.getRootNode().querySelectorAll(".mark")];
  assert.deepEqual(marks.map(({ title, tabIndex }) => [title, tabIndex]), [["heads form", -1], ["the end", -1]]);
});

test("a mark leads to its snapshot, and so does the slider; what plays stops there", (t) => {
  const { tick } = begin(t);
  send("marks");
  const player = filmed(filmOf("marks"));
  player.play.click();
  player.find(".mark").click();
  tick(SETTLED);
  assert.ok(isAt(player, 2) && saysPlace(player, 2));
  player.play.click();
  move(player, 0);
  assert.equal(player.play.getAttribute("aria-label"), "Play");
});

test("a film is played to its end, a picture each time, and announced there; then it restarts", (t) => {
  const { tick } = begin(t);
  send("played");
  const player = filmed(filmOf("played"));
  const says = () => [player.play.getAttribute("aria-label"), player.play.title, player.play.classList.contains("playing")];
  player.play.click();
  assert.deepEqual(says(), ["Pause", "Pause (space)", true]);
  assert.ok(isAt(player, 1));
  tick(400);
  assert.ok(isAt(player, 2)); // a few pictures are shown for 0.4 s each
  tick(400);
  assert.ok(isAt(player, 3));
  assert.deepEqual(says(), ["Play", "Play the snapshots (space)", false]);
  assert.deepEqual(player.told, []);
  tick(SETTLED);
  assert.deepEqual(player.told, [["snapshot", { revision: 2, value: 3000 }]]);
  assert.ok(saysPlace(player, 3));
  player.play.click();
  assert.ok(isAt(player, 0));
  tick(400);
  player.play.click();
  tick(5000);
  assert.ok(isAt(player, 1) && saysPlace(player, 1));
  assert.deepEqual(player.told.slice(1), [["snapshot", { revision: 3, value: 10 }]]);
});

test("without its pictures a film does not play, and nothing is announced", (t) => {
  const { tick } = begin(t);
  const player = filmed(filmOf("empty"));
  player.play.click();
  tick(5000);
  assert.ok(!player.play.classList.contains("playing"));
  assert.deepEqual(player.told, []);
});

test("what the server says of the snapshot holds, unless a person has gone on since", (t) => {
  const { tick } = begin(t);
  send("shared");
  const step = (revision, value) => dataOf(filmOf("shared", { step: { revision, value } }));
  const player = filmed(filmOf("shared"));
  player.update(step(2, 250));
  assert.ok(isAt(player, 2) && saysPlace(player, 2));
  move(player, 0);
  player.update(step(2, 250)); // an answer to something else
  assert.ok(isAt(player, 0));
  rest(player);
  tick(SETTLED);
  assert.deepEqual(player.told, [["snapshot", { revision: 3, value: 0 }]]);
  player.update(step(3, 0));
  player.play.click();
  player.update(step(4, 3000)); // chosen elsewhere on the page
  assert.ok(!player.play.classList.contains("playing"));
  assert.ok(isAt(player, 3) && saysPlace(player, 3));
});

test("another film begins at its own snapshot, with its own track and pictures, and the one before comes back at once", (t) => {
  const { tick } = begin(t);
  send("first", { seed: 3 });
  const player = filmed(filmOf("first", { step: { revision: 7, value: 3000 } }));
  player.play.click();
  const steps = [0, 1, 2, 5, 8, 13];
  const second = filmOf("second", { steps, step: { revision: 0, value: 8 }, marks: [{ place: 1, words: "one" }], lines: [] });
  player.update(dataOf(second));
  assert.equal(player.slider.value, "4");
  assert.ok(!player.play.classList.contains("playing"));
  assert.ok(!saysPlace(player, 3)); // of the other film
  send("second", { seed: 40, nFrames: 6 });
  assert.ok(isAt(player, 4, { seed: 40 }) && saysPlace(player, 4));
  player.update(dataOf(filmOf("first", { step: { revision: 0, value: 250 } })));
  assert.ok(isAt(player, 2) && saysPlace(player, 2));
  tick(5000);
  assert.deepEqual(player.told, []);
  send("third", { seed: 60 });
  send("first", { seed: 3 });
  send("fourth", { seed: 70 });
  player.update(dataOf(filmOf("third")));
  player.play.click();
  assert.ok(!player.play.classList.contains("playing")); // it was dropped: only two are kept
});

test("what belongs to another snapshot is hidden on the page, until the overview leaves", (t) => {
  begin(t);
  const notes = STEPS.map((step) => {
    const note = document.body.appendChild(document.createElement("p"));
    note.className = "hl-of-snapshot";
    note.dataset.step = step;
    return note;
  });
  const rules = () => [...document.head.querySelectorAll("style")].map(({ textContent }) => textContent.match(/^(.*) \{ visibility: hidden; \}$/)[1]);
  const visible = () => notes.filter((note) => !rules().some((rule) => note.matches(rule))).map((note) => Number(note.dataset.step));
  send("hidden");
  const player = filmed(filmOf("hidden"));
  assert.deepEqual(visible(), [10]);
  move(player, 3);
  assert.deepEqual(visible(), [3000]);
  player.leave();
  assert.deepEqual(visible(), STEPS);
  for (const note of notes) note.remove();
});

test("an overview that leaves while its film plays tells nothing any longer, and hears of no pictures", (t) => {
  const { tick, large } = begin(t);
  send("left");
  const player = filmed(filmOf("left"));
  player.play.click();
  player.leave();
  const n = large.length;
  tick(5000);
  send("left");
  assert.deepEqual(player.told, []);
  assert.equal(large.length, n);
});
