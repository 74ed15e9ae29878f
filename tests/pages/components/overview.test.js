// The overview of all heads as a component: choosing, combining, ordering by a measure; and a film of them, played.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { announced, packed, place, press, setTheme, shown } from "../dom.js";
import { shownHead } from "../../../pages/components/kit/channel.js";
import showFilm from "../../../pages/components/overview/film.js";
import show from "../../../pages/components/overview/overview.js";

const SCALES = { light: { sequential: [[0, "#ffffff"], [1, "#000000"]], forbidden: "#c8ccd0" }, dark: { sequential: [[0, "#000000"], [1, "#ffffff"]], forbidden: "#404448" } };
const GROUPS = [
  { attention: "encoder", title: "Encoder self-attention", layers: 2, heads: 3, queries: 2, keys: 4 },
  { attention: "cross", title: "Cross-attention", layers: 1, heads: 2, queries: 3, keys: 4 },
];
const N_CELLS = 6 * 8 + 2 * 12;
const wordsOf = ({ layers, heads }, said) => Array.from({ length: layers }, (_, layer) => Array.from({ length: heads }, (_, head) => `${said}${layer}${head}`));
const CHOSEN = { revision: 0, value: { attention: "cross", layer: 0, head: 1 } };

function header(more = {}) {
  const groups = GROUPS.map((group) => ({ ...group, strongest: wordsOf(group, more.said ?? "at ") }));
  return { groups, chosen: CHOSEN, version: 1, scales: SCALES, measure: null, order: "", pinned: [], canPin: true, only: null, given: null, ...more };
}
const data = (more = {}, levels = new Uint8Array(N_CELLS).fill(100)) => packed(header(more), levels);
const heads = (overview) => overview.findAll(".head");
const pressed = (overview) => heads(overview).filter((button) => button.getAttribute("aria-pressed") === "true");
const nameOf = (button) => button.getAttribute("aria-label");
const names = (overview) => heads(overview).map((button) => nameOf(button).split(".").slice(0, 2).join("."));

test("a head is chosen at once, told, and stays chosen over data that does not know of it yet", () => {
  const overview = shown(show, "overview", data());
  assert.match(nameOf(pressed(overview)[0]), /^Cross-attention L0\.H1\. Strongest: at 01/);
  const seen = [];
  shownHead.listen(({ attention, layer, head }) => seen.push([attention, layer, head]), new AbortController().signal);
  heads(overview)[4].click(); // the encoder's L1.H1
  assert.deepEqual(seen, [["encoder", 1, 1]]);
  assert.match(announced(), /Encoder self-attention L1\.H1/);
  const [[what, { revision, value }]] = overview.told;
  assert.deepEqual([what, value], ["chosen", { attention: "encoder", layer: 1, head: 1 }]);
  assert.ok(revision > CHOSEN.revision);
  overview.update(data({ version: 2 })); // answers something else
  assert.ok(pressed(overview)[0] === heads(overview)[4]);
  overview.update(data({ version: 3, chosen: { revision: revision + 1, value: { attention: "encoder", layer: 0, head: 2 } } }));
  assert.ok(pressed(overview).length === 1 && pressed(overview)[0] === heads(overview)[2]);
  overview.leave();
});

test("a head is combined by a click with Shift and by P, where heads can be, and nowhere else", () => {
  const overview = shown(show, "overview", data());
  const [first, , third] = heads(overview);
  first.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  press(third, "p");
  assert.deepEqual(overview.told, [["pinned", { attention: "encoder", layer: 0, head: 0 }], ["pinned", { attention: "encoder", layer: 0, head: 2 }]]);
  overview.update(data({ pinned: [{ attention: "encoder", layer: 0, head: 2, hue: "#aa0000" }] }));
  assert.ok(third.classList.contains("pinned") && third.style.getPropertyValue("--hue") === "#aa0000" && /combined/.test(nameOf(third)));
  overview.update(data({ pinned: [] }));
  assert.ok(!third.classList.contains("pinned") && !/combined/.test(nameOf(third)));
  overview.update(data({ canPin: false }));
  assert.ok(!third.hasAttribute("aria-keyshortcuts"));
  overview.told.length = 0;
  press(third, "p");
  first.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  assert.deepEqual(overview.told.map(([what]) => what), ["chosen"]);
  overview.leave();
});

const measure = (values, ends) => ({ name: "share", title: "the share", unit: "%", low: "little", high: "much", values, ends });
const VALUES = { encoder: [[0.5, -1, null], [2, 0, 1]], cross: [[null, -2]] };

test("a bar goes from zero to its value, in either direction, and a head that the measure leaves out has none", () => {
  const overview = shown(show, "overview", data({ measure: measure(VALUES, [-2, 2]) }));
  const bars = overview.findAll(".bar").map(({ style, classList }) => (classList.contains("none") ? null : ["--start", "--end"].map((end) => Number(style.getPropertyValue(end)))));
  const expected = [...VALUES.encoder.flat(), ...VALUES.cross.flat()].map((value) => (value === null ? null : [Math.min(0, value), Math.max(0, value)].map((end) => (end + 2) / 4)));
  assert.deepEqual(bars, expected);
  assert.match(nameOf(heads(overview)[1]), /share −1\.00 %/);
  assert.match(nameOf(heads(overview)[2]), /share: not applicable/);
  overview.update(data({ measure: null }));
  assert.ok(overview.find(".legend").hidden && !/share/.test(nameOf(heads(overview)[1])) && overview.findAll(".number").every(({ textContent }) => textContent === ""));
  overview.leave();
});

test("ordered by a measure, those that it leaves out come last, and the arrow keys follow what is seen", () => {
  const overview = shown(show, "overview", data({ measure: measure(VALUES, [-2, 2]), order: "descending", only: ["encoder"] }));
  const order = (values) => values.map((value, place) => [value, place]).sort(([a, i], [b, j]) => (b ?? -Infinity) - (a ?? -Infinity) || i - j).map(([, place]) => `L${Math.floor(place / 3)}.H${place % 3}`);
  const seen = () => names(overview).map((name) => name.split(" ").at(-1));
  assert.deepEqual(seen(), order(VALUES.encoder.flat()));
  const stop = overview.find(".head[tabindex='0']");
  assert.ok(stop === heads(overview)[0]); // what is chosen is not seen
  overview.update(data({ measure: measure(VALUES, [-2, 2]), order: "", only: null }));
  assert.deepEqual(names(overview).slice(0, 6).map((name) => name.split(" ").at(-1)), ["L0.H0", "L0.H1", "L0.H2", "L1.H0", "L1.H1", "L1.H2"]);
  overview.leave();
});

const FRAMES = 5;
const FILM_HEADS = 8;
function film(id, frames = FRAMES) {
  // One byte a cell and snapshot; the strongest cell of each head is at query 1 and key 2, and its weight tells the snapshot.
  const strongest = Uint16Array.from({ length: 3 * frames * FILM_HEADS }, (_, i) => [1, 2, 10 * Math.floor(i / 3 / FILM_HEADS) + 5][i % 3]);
  const groups = GROUPS.map(({ attention, layers, heads, queries, keys }) => ({ attention, heads: layers * heads, rows: queries, columns: keys }));
  const levels = Uint8Array.from({ length: frames * N_CELLS }, (_, i) => 50 * Math.floor(i / N_CELLS));
  showFilm({ data: packed({ id, frames, groups }, strongest, levels) });
}
const STEPS = [0, 1, 20, 300, 4000];
const LOSSES = [4, 3, 2, 1, 0];
function filmData(id, step, revision = 0, more = {}) {
  const labels = { queries: ["a", "b", "c"], keys: ["x", "y", "z", "w"] };
  const lines = [{ name: "loss", values: LOSSES, ends: [0, 4] }];
  return data({ film: { id, steps: STEPS, step: { revision, value: step }, labels: { encoder: labels, cross: labels }, lines, marks: [{ place: 3, words: "it appears" }], color: "#b07010", ...more } });
}
const parts = (overview) => {
  const bar = overview.root.parentNode.querySelector(".player");
  return { bar, button: bar.querySelector(".play"), slider: bar.querySelector("input"), label: bar.querySelector(".snapshot"), mark: bar.querySelector(".mark") };
};

test("a film begins at the chosen snapshot, is played to its end, and tells where it came to rest", () => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  film("one");
  const overview = shown(show, "overview", filmData("one", 20));
  const { button, slider, label } = parts(overview);
  const at = () => [Number(slider.value), label.querySelector("strong").textContent, nameOf(heads(overview)[7]).match(/“.*/)[0]];
  assert.deepEqual(at(), [2, "step 20", "“b” → “z” 0.25"]);
  assert.equal(label.querySelector(".line-0").textContent, "loss 2.00");
  const seen = [];
  shownHead.listen(({ step, levels }) => seen.push([step, levels[0]]), new AbortController().signal);
  button.click();
  assert.equal(button.getAttribute("aria-label"), "Pause");
  mock.timers.tick(400);
  assert.deepEqual(seen, [[300, 150]]);
  mock.timers.tick(400);
  assert.equal(button.getAttribute("aria-label"), "Play");
  assert.deepEqual(overview.told, []); // not before it has stood still
  mock.timers.tick(200);
  assert.deepEqual(overview.told.map(([what, { value }]) => [what, value]), [["snapshot", 4000]]);
  assert.deepEqual(at(), [4, "step 4,000", "“b” → “z” 0.45"]);
  button.click(); // from the end it begins again
  assert.equal(Number(slider.value), 0);
  button.click();
  overview.leave();
  mock.timers.reset();
});

test("a snapshot that is sought stops the film and holds against older data; a newer one of the page is followed", () => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  film("two");
  const overview = shown(show, "overview", filmData("two", 0));
  const { bar, button, slider, mark } = parts(overview);
  button.click();
  mark.click();
  assert.equal(button.getAttribute("aria-label"), "Play");
  mock.timers.tick(1000);
  const [[, { revision, value }]] = overview.told;
  assert.deepEqual([value, Number(slider.value)], [300, 3]);
  overview.update(filmData("two", 0, revision - 1));
  assert.equal(Number(slider.value), 3);
  overview.update(filmData("two", 1, revision + 1));
  assert.equal(Number(slider.value), 1);
  Object.assign(slider, { value: 2 });
  slider.dispatchEvent(new Event("input"));
  overview.update(filmData("two", 0, revision + 1)); // on the way before the slider moved
  assert.equal(Number(slider.value), 2);
  press(slider, " ");
  assert.equal(button.getAttribute("aria-label"), "Pause");
  bar.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
  assert.equal(button.getAttribute("aria-label"), "Play");
  overview.leave();
  mock.timers.reset();
});

test("words of other snapshots are hidden while the film is there, and its style leaves with it", () => {
  film("three");
  const styles = () => [...document.head.querySelectorAll("style")].map(({ textContent }) => textContent).filter((text) => text.includes("snapshot"));
  const overview = shown(show, "overview", filmData("three", 300));
  assert.ok(styles().length === 1 && styles()[0].includes(`[data-step="300"]`));
  overview.leave();
  assert.deepEqual(styles(), []);
});

test("the films of this page and of the one before are kept; one that comes again counts as new", () => {
  for (const id of ["old", "mine", "old", "third"]) film(id);
  const shows = (id) => {
    const overview = shown(show, "overview", filmData(id, 0));
    const isThere = /“b” → “z”/.test(nameOf(heads(overview)[0]));
    overview.leave();
    return isThere;
  };
  assert.deepEqual(["old", "mine", "third"].map(shows), [true, false, true]);
  const waiting = shown(show, "overview", filmData("late", 0));
  film("late");
  assert.match(nameOf(heads(waiting)[0]), /“b” → “z” 0\.05/);
  waiting.leave();
});

test("a change of theme paints the pictures anew, of the snapshot that is seen", () => {
  film("themes");
  const overview = shown(show, "overview", filmData("themes", 4000));
  const [field, button, canvas] = [overview.find(".field"), heads(overview)[0], overview.find("canvas")];
  place(field, { width: 600, height: 300 });
  heads(overview).forEach((one, i) => place(one, { left: 10 + 60 * i, top: 20, width: 40, height: 20 }));
  const shade = () => canvas.pixel(button.getBoundingClientRect().left + 20, 30)[0];
  setTheme("dark");
  const dark = shade();
  setTheme("light");
  const light = shade();
  assert.ok(Math.abs(dark - (255 * 200) / 254) < 3 && Math.abs(light - (255 - (255 * 200) / 254)) < 3, `${dark}, ${light}`);
  overview.leave();
});
