// Roving focus on a page: one stop for the Tab key, keys that lead on from there, and what is pointed at.

import assert from "node:assert/strict";
import { test } from "node:test";

import { point, press } from "../../dom.js";
import { inLine, inRows, nearest, rove } from "../../../../headlight/components/kit/roving.js";

/** A box of things, each of a kind, and a way to say what happened there. */
function made({ kind = "button", ...more } = {}) {
  const box = document.body.appendChild(document.createElement("div"));
  const items = ["a", "b", "c"].map((name) => {
    const item = box.appendChild(document.createElement(kind));
    Object.assign(item, { className: "item", tabIndex: -1, id: name });
    item.append(document.createElement("i"));
    return item;
  });
  const beside = box.appendChild(document.createElement("button"));
  const [pointed, chosen] = [[], []];
  const name = (item) => item?.id ?? null;
  const roving = rove(box, {
    of: ".item",
    next: (key, item) => inLine(key, item, items),
    onPoint: (item) => pointed.push(name(item)),
    onChoose: (item, event) => chosen.push([name(item), event.type]),
    ...more,
  });
  return { box, items, beside, pointed, chosen, roving, stops: () => items.filter(({ tabIndex }) => tabIndex === 0).map(name) };
}
const active = () => document.activeElement.id;

test("the Tab key comes to one thing: where it was set, and then to where the focus was", () => {
  const { items, roving, stops, beside } = made();
  assert.deepEqual([stops(), roving.stop], [[], null]);
  roving.rest(items[1]);
  assert.deepEqual([stops(), roving.stop], [["b"], items[1]]);
  press(items[1], "ArrowRight");
  assert.deepEqual([stops(), active()], [["c"], "c"]);
  roving.rest(items[0]); // the focus is on one
  assert.deepEqual(stops(), ["c"]);
  beside.focus();
  assert.deepEqual(stops(), ["c"]);
  roving.rest(items[0]);
  assert.deepEqual(stops(), ["a"]);
  roving.rest(null);
  assert.deepEqual([stops(), roving.stop], [[], null]);
});

test("keys that lead somewhere are taken, other keys, keys of the browser and keys elsewhere are not", () => {
  const { items, beside } = made();
  assert.ok(press(items[0], "ArrowRight").defaultPrevented);
  assert.equal(active(), "b");
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) {
    assert.ok(!press(items[1], "ArrowRight", more).defaultPrevented);
    assert.equal(active(), "b");
  }
  assert.ok(!press(items[1], "x").defaultPrevented);
  assert.ok(!press(beside, "ArrowRight").defaultPrevented);
  const nowhere = made({ next: () => null });
  assert.ok(press(nowhere.items[1], "ArrowDown").defaultPrevented);
  assert.equal(document.activeElement, nowhere.items[1]);
});

test("Enter and the space bar choose, once: a button by its click, something else by the key", () => {
  const buttons = made();
  press(buttons.items[1], "Enter");
  press(buttons.items[1], " ");
  buttons.items[2].firstChild.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  buttons.beside.click();
  buttons.box.click();
  assert.deepEqual(buttons.chosen, [["b", "click"], ["b", "click"], ["c", "click"]]);
  const things = made({ kind: "div" });
  for (const key of ["Enter", " "]) assert.ok(press(things.items[0], key).defaultPrevented);
  press(things.items[0], "e");
  things.items[1].click();
  assert.deepEqual(things.chosen, [["a", "keydown"], ["a", "keydown"], ["b", "click"]]);
});

test("what the pointer is at comes first, then what has the focus, then nothing", () => {
  const { items, box, pointed, beside } = made();
  const last = () => pointed.at(-1);
  point(items[0].firstChild, "mouseover");
  assert.equal(last(), "a");
  point(beside, "mouseover");
  assert.equal(last(), null);
  items[1].focus();
  assert.equal(last(), "b");
  point(items[2], "mouseover");
  assert.equal(last(), "c");
  point(beside, "mouseover");
  assert.equal(last(), "b");
  items[1].blur();
  point(items[2], "mouseover");
  point(box, "mouseleave");
  assert.equal(last(), null);
});

test("a line ends at its ends, and only its own keys lead along it", () => {
  const items = ["a", "b", "c", "d"];
  assert.deepEqual(["ArrowLeft", "ArrowRight", "Home", "End", "ArrowUp", " "].map((key) => inLine(key, "b", items)), ["a", "c", "a", "d", undefined, undefined]);
  assert.deepEqual([inLine("ArrowLeft", "a", items), inLine("ArrowRight", "d", items)], ["a", "d"]);
});

test("each key leads its own way in rows, a shorter one is entered at its end, and each arrow its own way over a drawing", () => {
  const keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"];
  const to = (lengths, row, column) => keys.map((key) => Object.values(inRows(key, { row, column }, lengths)));
  assert.deepEqual(to([3, 1, 4], 0, 2), [[0, 2], [1, 0], [0, 1], [0, 2], [0, 0], [0, 2], [0, 2], [2, 2]]);
  assert.equal(inRows("Enter", { row: 0, column: 0 }, [3, 1]), undefined);
  const from = { x: 100, y: 200 };
  const around = [{ x: 90, y: 150 }, { x: 110, y: 250 }, { x: 50, y: 210 }, { x: 150, y: 190 }, from];
  assert.deepEqual(keys.slice(0, 4).map((key) => nearest(key, from, around)), [0, 1, 2, 3]);
});
