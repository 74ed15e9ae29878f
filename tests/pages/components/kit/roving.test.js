// Roving focus on a page: one stop for the Tab key, keys that lead on from there, and what is pointed at.

import assert from "node:assert/strict";
import { test } from "node:test";

import { place, point, press } from "../../dom.js";
import { goTo, inLine, inLines, inRows, middleOf, nearest, rove } from "../../../../pages/components/kit/roving.js";

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

test("the Tab key comes to one thing: where it was told to rest, and then to where the focus was", () => {
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
  const { items, beside, box } = made();
  assert.ok(press(items[0], "ArrowRight").defaultPrevented);
  assert.equal(active(), "b");
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) {
    assert.ok(!press(items[1], "ArrowRight", more).defaultPrevented);
    assert.equal(active(), "b");
  }
  assert.ok(!press(items[1], "x").defaultPrevented);
  assert.ok(!press(beside, "ArrowRight").defaultPrevented);
  const within = new KeyboardEvent("keydown", { key: "End", bubbles: true, cancelable: true });
  items[0].firstChild.dispatchEvent(within); // from something in it
  assert.ok(within.defaultPrevented && active() === "c");
  const nowhere = made({ next: () => null });
  assert.ok(press(nowhere.items[1], "ArrowDown").defaultPrevented);
  assert.equal(document.activeElement, nowhere.items[1]);
  box.dispatchEvent(new Event("keydown")); // as browsers do when they fill in a form
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
  const silent = made({ kind: "div", onChoose: undefined });
  assert.ok(!press(silent.items[0], "Enter").defaultPrevented);
  silent.items[0].click();
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
  point(items[2], "mouseover");
  point(box, "mouseleave");
  assert.equal(last(), "b");
  items[1].blur();
  assert.equal(last(), null);
  point(items[2], "mouseover");
  point(box, "mouseleave");
  assert.equal(last(), null);
  const silent = made({ onPoint: undefined });
  silent.items[0].focus();
  point(silent.items[0], "mouseover");
});

test("in lines of things up and down lead to what stands there, and nowhere at the ends", () => {
  const { items } = made();
  const at = (left, top, width = 20) => ({ left, top, width, height: 10 });
  [at(0, 0, 40), at(60, 0), at(52, 30, 40)].forEach((box, i) => place(items[i], box));
  assert.deepEqual(middleOf(items[2]), { x: 72, y: 35 });
  assert.equal(inLines("ArrowDown", items[0], items), items[2]);
  assert.equal(inLines("ArrowUp", items[2], items), items[1]);
  assert.equal(inLines("ArrowUp", items[0], items), null);
  assert.deepEqual([inLines("ArrowRight", items[1], items), inLines("End", items[0], items)], [items[2], items[2]]);
  assert.equal(inLines("x", items[0], items), undefined);
});

test("a line ends at its ends, and only its own keys lead along it", () => {
  const items = ["a", "b", "c", "d"];
  assert.deepEqual(["ArrowLeft", "ArrowRight", "Home", "End", "ArrowUp", " "].map((key) => inLine(key, "b", items)), ["a", "c", "a", "d", undefined, undefined]);
  assert.deepEqual([inLine("ArrowLeft", "a", items), inLine("ArrowRight", "d", items)], ["a", "d"]);
  assert.deepEqual(["ArrowUp", "ArrowDown", "ArrowLeft"].map((key) => inLine(key, "b", items, "down")), ["a", "c", undefined]);
});

test("each key leads its own way in rows, a shorter one is entered at its end, and each arrow its own way over a drawing", () => {
  const keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"];
  const to = (lengths, row, column) => keys.map((key) => Object.values(inRows(key, { row, column }, lengths)));
  assert.deepEqual(to([5, 4, 4], 1, 2), [[0, 2], [2, 2], [1, 1], [1, 3], [1, 0], [1, 3], [0, 2], [2, 2]]);
  assert.deepEqual(to([3, 1, 4], 0, 2), [[0, 2], [1, 0], [0, 1], [0, 2], [0, 0], [0, 2], [0, 2], [2, 2]]);
  assert.equal(inRows("Enter", { row: 0, column: 0 }, [3, 1]), undefined);
  const from = { x: 100, y: 200 };
  const around = [{ x: 90, y: 150 }, { x: 110, y: 250 }, { x: 50, y: 210 }, { x: 150, y: 190 }, from];
  assert.deepEqual(keys.slice(0, 4).map((key) => nearest(key, from, around)), [0, 1, 2, 3]);
  assert.equal(nearest("ArrowLeft", from, [from, { x: 150, y: 200 }]), -1); // behind
  assert.equal(nearest("ArrowRight", from, [from, { x: 102, y: 240 }]), -1); // beside, two pixels off
  assert.equal(nearest("ArrowRight", from, [from, { x: 103, y: 200 }]), 1);
  // Ten px aside count as thirty ahead, on either side.
  for (const aside of [-10, 10]) {
    assert.equal(nearest("ArrowDown", from, [{ x: 100 + aside, y: 220 }, { x: 100, y: 249 }]), 1);
    assert.equal(nearest("ArrowDown", from, [{ x: 100 + aside, y: 220 }, { x: 100, y: 251 }]), 0);
    assert.equal(nearest("ArrowLeft", from, [{ x: 80, y: 200 + aside }, { x: 51, y: 200 }]), 1);
    assert.equal(nearest("ArrowLeft", from, [{ x: 80, y: 200 + aside }, { x: 49, y: 200 }]), 0);
  }
});

test("whatever the focus goes to is scrolled into sight, no further than it must", () => {
  const { items } = made();
  const asked = [];
  items[2].scrollIntoView = (how) => asked.push(how);
  const focus = items[2].focus.bind(items[2]);
  items[2].focus = (how) => (asked.push(how), focus(how));
  goTo(items[2]);
  assert.equal(active(), "c");
  assert.deepEqual(asked, [{ preventScroll: true }, { block: "nearest", inline: "nearest" }]);
});
