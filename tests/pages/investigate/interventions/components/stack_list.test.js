// The stack as a list: what is switched, renamed, moved and removed, by pointer and keyboard, and what is sent to the server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { areSame, place, point, press, shown } from "../../../dom.js";
import show from "../../../../../pages/investigate/interventions/components/stack_list/stack_list.js";

const one = (name, isActive = true) => ({
  ...{ sentence: "does something", whole: "does something with a long text" },
  entry: { name, ...(isActive ? {} : { enabled: false }) },
});
const data = (entries, more = {}) => ({ entries, canUndo: true, canRedo: false, ...more });
const list = () => shown(show, "stack_list", data([one("a"), one("b", false), one("c")]));
const sentences = (view) => view.findAll(".sentence").map(({ textContent }) => textContent.replace(": does something", "")).join("");
const handles = (view) => view.findAll(".handle");
const sent = (view) => view.told.map(([name, value]) => [name, name === "stack" ? marked(JSON.parse(value)) : value]);
const marked = (entries) => entries.map(({ name, enabled }) => name + (enabled === false ? "!" : "")).join("");

function lay(view) {
  view.findAll(".entry").forEach((row, index) => place(row, { top: 100 + 40 * index, left: 0, width: 300, height: 40 }));
}

function drag(view, from, y) {
  lay(view);
  point(handles(view)[from], "pointerdown", { pointerId: 1, button: 0, clientY: 120 + 40 * from });
  point(view.root, "pointermove", { pointerId: 1, clientY: y });
}

test("an intervention is switched at once, and the whole stack is sent", () => {
  const view = list();
  assert.deepEqual(view.findAll(".switch").map(({ checked }) => checked), [true, false, true]);
  view.findAll(".switch")[1].click();
  view.findAll(".switch")[0].click();
  assert.deepEqual(sent(view), [["stack", "abc"], ["stack", "a!bc"]]); // the second holds the first, too
  assert.deepEqual(view.findAll(".entry").map((row) => row.classList.contains("off")), [true, false, false]);
});

test("one is dragged to another place, and goes back with Escape", () => {
  const view = list();
  drag(view, 0, 190);
  assert.equal(sentences(view), "bca");
  point(view.root, "pointerup", { pointerId: 1, clientY: 190 });
  drag(view, 2, 110);
  assert.equal(sentences(view), "abc");
  press(handles(view)[1], "Escape");
  assert.equal(sentences(view), "bca");
  point(view.root, "pointerup", { pointerId: 1, clientY: 110 });
  assert.deepEqual(sent(view), [["stack", "b!ca"]]);
});

test("the arrow keys move one, which keeps the focus, and stop at the ends", () => {
  const view = list();
  const focused = () => view.root.getRootNode().activeElement;
  press(handles(view)[0], "ArrowUp");
  press(handles(view)[0], "ArrowDown");
  assert.ok(areSame([focused()], [handles(view)[1]]));
  press(focused(), "ArrowDown");
  assert.ok(areSame([focused()], [handles(view)[2]]));
  press(focused(), "ArrowDown");
  assert.deepEqual(sent(view), [["stack", "b!ac"], ["stack", "b!ca"]]);
});

test("what the server says is shown, and what has the focus keeps it", () => {
  const view = list();
  view.findAll(".switch")[2].focus();
  view.update(data([one("a"), one("b"), one("c", false)], { canUndo: false, canRedo: true }));
  assert.ok(areSame([view.root.getRootNode().activeElement], [view.findAll(".switch")[2]]));
  const [undo, redo, clear] = view.findAll(".tool");
  assert.deepEqual([undo.disabled, redo.disabled, clear.disabled], [true, false, false]);
  redo.click();
  view.findAll(".remove")[1].click();
  clear.click();
  assert.deepEqual(sent(view), [["redo", true], ["stack", "ac!"], ["stack", ""]]);
  view.update(data([one("a")]));
  assert.ok(handles(view)[0].hidden); // a single one has nowhere to go
});

const field = (view) => view.find(".name");
const focused = (view) => view.root.getRootNode().activeElement;

function type(view, text) {
  field(view).value = text;
  field(view).dispatchEvent(new Event("input", { bubbles: true }));
}

test("one is renamed with Enter, in place and as one change, and the focus goes back to its button", () => {
  const view = list();
  view.findAll(".rename")[1].click();
  assert.deepEqual([field(view).value, field(view).ariaLabel, view.findAll(".sentence").length], ["b", "Name of intervention 2", 2]);
  assert.ok(areSame([focused(view)], [field(view)]));
  type(view, " New ");
  assert.ok(press(field(view), "Enter").defaultPrevented); // else it would press the button that has the focus next
  assert.equal(field(view), null);
  assert.equal(sentences(view), "aNewc");
  assert.ok(areSame([focused(view)], [view.findAll(".rename")[1]]));
  assert.deepEqual(sent(view), [["stack", "aNew!c"]]);
  view.findAll(".switch")[1].click(); // it was drawn before its name changed
  assert.deepEqual(sent(view)[1], ["stack", "aNewc"]);
});

test("a double click begins a name too; Escape leaves it, and the same name is no change", () => {
  const view = list();
  const begin = () => view.findAll(".sentence")[0].dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  begin();
  type(view, "new");
  press(field(view), "Escape");
  begin();
  assert.equal(field(view).value, "a");
  press(field(view), "Enter");
  assert.deepEqual([field(view), sentences(view), view.told], [null, "abc", []]);
  begin();
  type(view, "");
  view.findAll(".remove")[0].focus(); // which takes the name, and an empty one is none
  assert.equal(view.findAll(".sentence")[0].textContent, "does something");
});

test("a name that is being typed stays while the server says something else, unless its intervention goes", () => {
  const view = list();
  view.findAll(".rename")[1].click();
  type(view, "new");
  view.update(data([one("a"), one("b"), one("c")]));
  assert.ok(areSame([focused(view)], [field(view)]));
  assert.deepEqual([field(view).value, view.told], ["new", []]);
  view.update(data([one("a")]));
  assert.deepEqual([field(view), sentences(view), view.told], [null, "a", []]);
  view.update(data([one("a"), one("other")]));
  assert.equal(field(view), null, "another one in its place has its own name");
});
