// The attentions of a model as they lie in the paper's figure 1, each with its mask in small; a click chooses one.
//
// data: as packing.py packs it; header.items, each with name, title, from, to, mask, why, rows and columns; then their
// cells, one byte each. header.joins: what is written on the arrows, or nothing where there is one attention only;
// header.note: what is said beside them.

import { element } from "../../../../components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { unpack } from "../../../../components/kit/packing.js";
import { watchTheme } from "../../../../components/kit/theme.js";
import { paintMiniature } from "./paint.js";

const SIDE = 132; // px of a mask

export default await mount(import.meta.url, {
  styles: ["./mask_which.css"],
  make: makeView,
  update,
});

function makeView(root) {
  const view = { root };
  view.theme = watchTheme(root, () => paintAll(view));
  return view;
}

function update(view, data, send) {
  const { root } = view;
  const { header, rest } = unpack(data);
  view.header = header;
  let offset = 0;
  view.items = header.items.map((item) => {
    const cells = rest.subarray(offset, (offset += item.rows * item.columns));
    return { ...item, cells, canvas: element("canvas", "miniature") };
  });
  const focused = root.querySelector("button:focus")?.dataset.name;
  root.querySelectorAll(".card, .join, .note").forEach((part) => part.remove());
  root.classList.toggle("alone", view.items.length === 1);
  for (const item of view.items) root.append(makeCard(view, item, send));
  for (const [name, text] of Object.entries(header.joins)) {
    const join = element("div", `join ${name}`);
    const arrow = element("span", "arrow", name === "memory" ? "→" : "↑");
    arrow.setAttribute("aria-hidden", "true");
    join.append(element("span", "text", text), arrow);
    root.append(join);
  }
  if (header.note) root.append(element("p", "note", header.note));
  root.querySelector(`button[data-name="${focused}"]`)?.focus();
  paintAll(view);
}

function makeCard(view, item, setTriggerValue) {
  const { header } = view;
  const card = element("button", `card ${item.name}`);
  card.type = "button";
  card.dataset.name = item.name;
  card.setAttribute("aria-pressed", String(item.name === header.chosen));
  const [frame, words] = [element("span", "frame"), element("span", "words")];
  frame.append(item.canvas);
  const ends = element("span", "ends");
  for (const [side, text] of [["query", item.from], ["key", item.to]]) {
    const end = element("span", "end", text);
    end.style.color = header.hues[side];
    ends.append(end);
  }
  words.append(element("b", "title", item.title), ends);
  words.append(element("span", "mask", item.mask), element("span", "why", item.why));
  card.append(frame, words);
  card.addEventListener("click", () => setTriggerValue("chosen", { name: item.name }));
  return card;
}

function paintAll(view) {
  const colors = view.header.colors[view.theme()];
  for (const item of view.items) paintMiniature(item.canvas, item, colors, SIDE);
}
