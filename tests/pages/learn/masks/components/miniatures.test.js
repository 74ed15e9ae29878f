// Masks in small, as whole components: the gallery of presets and the attentions of a model.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, press, setTheme, shown } from "../../../dom.js";
import { packed } from "../../../packed.js";
import { isNear, read } from "../../../canvas.js";
import showGallery from "../../../../../pages/learn/masks/components/masks/mask_gallery.js";
import showWhich from "../../../../../pages/learn/masks/components/masks/mask_which.js";

const COLORS = { light: { allowed: "#00a000", forbidden: "#c0c4c8" }, dark: { allowed: "#20f020", forbidden: "#303438" } };
const HUES = { query: "#1060c0", key: "#c06010" };
const MASKS = { none: [2, 3, [1, 1, 1, 1, 1, 1]], causal: [2, 3, [1, 0, 0, 1, 1, 0]], window: [3, 2, [0, 1, 1, 0, 0, 1]] };
const item = (name, more) => ({ name, title: name.toUpperCase(), rows: MASKS[name][0], columns: MASKS[name][1], ...more });
const cellsOf = (...names) => Uint8Array.from(names.flatMap((name) => MASKS[name][2]));

function gallery(chosen = "causal", names = ["none", "causal", "window"]) {
  const items = names.map((name) => item(name, { group: name === "window" ? "sparse" : "plain", help: `what ${name} does` }));
  return packed({ items, colors: COLORS, chosen }, cellsOf(...names));
}

const from = (names, more) => ({
  ...{ items: names.map((name) => item(name, { from: `q of ${name}`, to: `k of ${name}`, mask: `m ${name}`, why: `w ${name}` })) },
  ...{ colors: COLORS, chosen: names[0], joins: {}, note: "", hues: HUES, ...more },
});
const which = (names, more) => packed(from(names, more), cellsOf(...names));

/** Whether each picture shows its own mask in this theme. */
function check(component, names, theme) {
  component.findAll("canvas").forEach((canvas, i) => {
    const [rows, columns, cells] = MASKS[names[i]];
    cells.forEach((cell, at) => {
      const [x, y] = [((at % columns) + 0.4) / columns * canvas.width, (Math.floor(at / columns) + 0.4) / rows * canvas.height].map(Math.floor);
      assert.ok(isNear(canvas.pixel(x, y), read(COLORS[theme][cell ? "allowed" : "forbidden"])), `${names[i]}, cell ${at}`);
    });
  });
}

const pressed = (component) => component.findAll("button").filter(({ ariaPressed }) => ariaPressed === "true").map(({ dataset }) => dataset.name);
const reached = (component) => component.findAll("button").filter(({ tabIndex }) => tabIndex === 0).map(({ dataset }) => dataset.name);

test("each preset stands in its group with its own mask, in both themes", () => {
  const presets = shown(showGallery, "mask_gallery", gallery());
  assert.deepEqual(presets.findAll(".group").map((group) => group.getAttribute("aria-label")), ["plain", "sparse"]);
  check(presets, ["none", "causal", "window"], "light");
  setTheme("dark");
  check(presets, ["none", "causal", "window"], "dark");
  setTheme("light");
});

test("a preset is chosen by a click or by keys, told by its name, and keeps the focus when the page answers", () => {
  const presets = shown(showGallery, "mask_gallery", gallery());
  assert.deepEqual([pressed(presets), reached(presets)], [["causal"], ["causal"]]);
  presets.find('[data-name="none"] .title').click();
  assert.deepEqual(presets.told, [["chosen", { name: "none" }]]);
  assert.equal(announced(), "Chosen: NONE");
  const buttons = presets.findAll("button");
  press(buttons[1], "ArrowRight");
  const root = presets.root.getRootNode();
  assert.equal(root.activeElement, buttons[2]);
  press(buttons[2], "Enter");
  assert.deepEqual(presets.told.at(-1), ["chosen", { name: "window" }]);
  presets.update(gallery("window", ["window", "none"]));
  assert.equal(root.activeElement.dataset.name, "window");
  assert.deepEqual([pressed(presets), reached(presets)], [["window"], ["window"]]);
  assert.equal(presets.findAll("button").length, 2);
  check(presets, ["window", "none"], "light");
});

test("the attentions of a model are told apart: whose queries look at whose keys, under which mask and why", () => {
  const names = ["none", "window"];
  const cards = shown(showWhich, "mask_which", which(names, { joins: { memory: "memory", asks: "asks" }, note: "Only these." }));
  const ends = cards.findAll(".end").map((end) => [end.textContent, end.style.getPropertyValue("--hue")]);
  assert.deepEqual(ends, names.flatMap((name) => [[`q of ${name}`, HUES.query], [`k of ${name}`, HUES.key]]));
  assert.deepEqual(cards.findAll(".join").map((join) => [join.classList.item(1), join.textContent]), [["memory", "memory→"], ["asks", "asks↑"]]);
  assert.equal(cards.find("p.note").textContent, "Only these.");
  assert.ok(!cards.root.classList.contains("alone"));
  check(cards, names, "light");
  cards.find(".card.window .why").click();
  assert.deepEqual(cards.told, [["chosen", { name: "window" }]]);
  cards.update(which(["causal"]));
  assert.ok(cards.root.classList.contains("alone"));
  assert.deepEqual([cards.findAll(".join, .note").length, cards.findAll("button").length], [0, 1]);
});
