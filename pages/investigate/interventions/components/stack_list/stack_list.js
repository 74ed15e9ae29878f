// The stack of interventions: each is switched, renamed, dragged to another place, or removed.
//
// data: {entries: [{entry, sentence, whole}], canUndo, canRedo}; an entry is an object of the stack's JSON, and `whole`
// is its sentence with nothing cut. It sends the whole changed stack as JSON, so that of two quick changes the second
// includes the first.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { say } from "../../../../../headlight/components/kit/say.js";

const MOST_CHARS = 60; // of a name

export default await mount(import.meta.url, { styles: ["./stack_list.css"], make, update });

function make(root) {
  /** @type {any} */
  const view = { root, entries: [], dragged: null, renamed: null }; // renamed: {index, name} while a name is typed
  const bar = element("div", "bar");
  const tool = (/** @type {string} */ words, /** @type {() => void} */ act) => {
    const node = Object.assign(element("button", "tool", words), { type: "button", onclick: act });
    bar.append(node);
    return node;
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
  if (!view.entries[view.renamed?.index]) view.renamed = null;
  view.undo.disabled = !data.canUndo;
  view.redo.disabled = !data.canRedo;
  draw(view);
}

function button(name, label, act) {
  const node = element("button", name);
  Object.assign(node, { type: "button", title: label, ariaLabel: label, onclick: act });
  return node;
}

/** Draws the list as it is known; what is being dragged goes back. */
function draw(view) {
  const focused = view.root.getRootNode().activeElement;
  const place = focused?.closest(".entry")?.dataset.index;
  view.dragged = null;
  view.clear.disabled = !view.entries.length;
  const { renamed } = view;
  const rows = view.entries.map((one, index) => row(view, one, index));
  view.renamed = null; // a field that loses the focus because it is drawn again is no end of typing
  view.list.replaceChildren(...rows);
  view.renamed = renamed;
  if (place !== undefined) partOf(view, Math.min(place, view.entries.length - 1), focused.className)?.focus();
}

const partOf = (view, index, name) => view.list.querySelector(`.entry[data-index="${index}"] .${name}`);

function row(view, { entry }, index) {
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
  active.addEventListener("change", () => change(view, altered(view, index, { enabled: active.checked })));
  const rename = button("rename", say("Rename intervention {n}", { n }), () => startNaming(view, index));
  const remove = button("remove", say("Remove intervention {n}", { n }), () => change(view, view.entries.toSpliced(index, 1)));
  box.append(handle, active, view.renamed?.index === index ? field(view, index) : words(view, index), rename, remove);
  return box;
}

function words(view, index) {
  const { entry, sentence, whole } = view.entries[index];
  const name = entry.name ? `${entry.name}: ` : "";
  const node = Object.assign(element("span", "sentence", name + sentence), { title: name + whole });
  node.addEventListener("dblclick", () => startNaming(view, index));
  return node;
}

function startNaming(view, index) {
  view.renamed = { index, name: view.entries[index].entry.name ?? "" };
  const node = field(view, index);
  partOf(view, index, "sentence").replaceWith(node);
  node.focus();
  node.select();
}

/** The field that a name is typed in. */
function field(view, index) {
  const node = element("input", "name");
  Object.assign(node, { type: "text", value: view.renamed.name, maxLength: MOST_CHARS, placeholder: say("Name (optional)") });
  node.ariaLabel = say("Name of intervention {n}", { n: index + 1 });
  node.addEventListener("input", () => (view.renamed.name = node.value));
  node.addEventListener("blur", () => stopNaming(view, true));
  node.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the page has its own keys
    if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault(); // else Enter presses the button that has the focus next
    stopNaming(view, event.key === "Enter");
    partOf(view, index, "rename").focus();
  });
  return node;
}

function stopNaming(view, isTaken) {
  if (!view.renamed) return;
  const { index, name } = view.renamed;
  view.renamed = null;
  const typed = name.trim();
  const isChanged = isTaken && typed !== (view.entries[index].entry.name ?? "");
  if (isChanged) view.entries = altered(view, index, { name: typed });
  partOf(view, index, "name").replaceWith(words(view, index)); // not the row: a click in it may have ended the typing
  if (isChanged) tell(view);
}

/** The entries, with something of one changed. */
function altered(view, index, changed) {
  const one = view.entries[index];
  return view.entries.with(index, { ...one, entry: { ...one.entry, ...changed } });
}

/** Shows the changed list, and sends it. */
function change(view, entries) {
  view.entries = entries;
  draw(view);
  tell(view);
}

function tell(view) {
  view.send("stack", JSON.stringify(view.entries.map(({ entry }) => entry)));
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
