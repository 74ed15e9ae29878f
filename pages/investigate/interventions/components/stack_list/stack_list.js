// The stack of interventions: each is switched, dragged to another place, or removed.
//
// data: {entries: [{entry, sentence}], canUndo, canRedo}; an entry is an object of the stack's JSON. It sends the whole
// changed stack as JSON, so that of two quick changes the second includes the first.

import { element } from "../../../../components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { say } from "../../../../components/kit/say.js";

export default await mount(import.meta.url, { styles: ["./stack_list.css"], make, update });

function make(root) {
  /** @type {any} */
  const view = { root, entries: [], dragged: null };
  const bar = element("div", "bar");
  const tool = (/** @type {string} */ words, /** @type {() => void} */ act) => {
    const made = Object.assign(element("button", "tool", words), { type: "button", onclick: act });
    bar.append(made);
    return made;
  };
  view.undo = tool(say("Undo"), () => view.send("undo", true));
  view.redo = tool(say("Redo"), () => view.send("redo", true));
  view.clear = tool(say("Clear"), () => change(view, []));
  view.list = element("ol", "list");
  root.append(bar, view.list);
  root.addEventListener("pointermove", ({ clientY }) => view.dragged && moveTo(view, placeAt(view, clientY)));
  root.addEventListener("pointerup", () => drop(view));
  root.addEventListener("pointercancel", () => draw(view));
  root.addEventListener("keydown", ({ key }) => key === "Escape" && view.dragged && draw(view));
  return view;
}

function update(view, data, send) {
  view.send = send;
  view.entries = data.entries;
  view.undo.disabled = !data.canUndo;
  view.redo.disabled = !data.canRedo;
  draw(view);
}

function button(name, label, act) {
  const made = element("button", name);
  Object.assign(made, { type: "button", title: label, ariaLabel: label, onclick: act });
  return made;
}

/** Draws the list as it is known; what is being dragged goes back. */
function draw(view) {
  const focused = view.root.getRootNode().activeElement;
  const place = focused?.closest(".entry")?.dataset.index;
  view.dragged = null;
  view.clear.disabled = !view.entries.length;
  view.list.replaceChildren(...view.entries.map((one, index) => row(view, one, index)));
  if (place !== undefined) partOf(view, Math.min(place, view.entries.length - 1), focused.className)?.focus();
}

const partOf = (view, index, name) => view.list.querySelector(`.entry[data-index="${index}"] .${name}`);

function row(view, { entry, sentence }, index) {
  const isActive = entry.enabled !== false;
  const n = index + 1;
  const box = element("li", isActive ? "entry" : "entry off");
  box.dataset.index = String(index);
  const handle = button("handle", say("Move intervention {n}: drag it, or use the arrow keys", { n }));
  handle.hidden = view.entries.length < 2;
  handle.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    view.dragged = box;
    box.classList.add("dragged");
    view.root.setPointerCapture?.(event.pointerId);
  });
  handle.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const to = index + by;
    if (!view.entries[to]) return;
    move(view, index, to);
    partOf(view, to, "handle").focus();
  });
  const active = element("input", "switch");
  Object.assign(active, { type: "checkbox", role: "switch", checked: isActive });
  active.ariaLabel = say("Intervention {n} is active", { n });
  active.addEventListener("change", () => change(view, view.entries.with(index, { entry: { ...entry, enabled: active.checked }, sentence })));
  const remove = button("remove", say("Remove intervention {n}", { n }), () => change(view, view.entries.toSpliced(index, 1)));
  box.append(handle, active, element("span", "sentence", sentence), remove);
  return box;
}

/** Shows the changed list, and sends it. */
function change(view, entries) {
  view.entries = entries;
  draw(view);
  view.send("stack", JSON.stringify(entries.map(({ entry }) => entry)));
}

function move(view, from, to) {
  const entries = view.entries.toSpliced(from, 1);
  change(view, entries.toSpliced(to, 0, view.entries[from]));
}

/** The index of the row at this height. */
function placeAt(view, y) {
  const rows = [...view.list.children];
  const below = rows.findIndex((one) => y < one.getBoundingClientRect().bottom);
  return below < 0 ? rows.length - 1 : below;
}

function moveTo(view, place) {
  const rows = [...view.list.children];
  const at = rows.indexOf(view.dragged);
  if (place !== at) rows[place][place < at ? "before" : "after"](view.dragged);
}

function drop(view) {
  if (!view.dragged) return;
  const [from, to] = [Number(view.dragged.dataset.index), [...view.list.children].indexOf(view.dragged)];
  if (from === to) draw(view);
  else move(view, from, to);
}
