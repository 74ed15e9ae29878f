// Masks in small, each on a button that chooses it: what both galleries share.
//
// data: as mounting.py packs it; header.items, each with name, title, rows and columns; then their cells, one byte each.

import { announce } from "../../../../../headlight/components/kit/announce.js";
import { element } from "../../../../../headlight/components/kit/elements.js";
import { unpack } from "../../../../../headlight/components/kit/packing.js";
import { inLines, rove } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { watchTheme } from "../../../../../headlight/components/kit/theme.js";
import { paintMiniature } from "./paint.js";

/** @param {number} side - px, of a mask */
export function makeMiniatures(root, side) {
  /** @type {Record<string, any>} */
  const view = { root, side, parts: [], items: [] };
  view.theme = watchTheme(root, () => paintAll(view));
  view.roving = rove(root, {
    of: "button",
    next: (key, button) => inLines(key, button, [...root.querySelectorAll("button")]),
    onChoose: (button) => {
      const { name, title } = view.items.find((item) => item.name === button.dataset.name);
      view.send("chosen", { name });
      announce(say("Chosen: {name}", { name: title }));
    },
  });
  return view;
}

/** Shows other masks, in what `makeParts(view)` returns; the button of the same name keeps the focus. */
export function showMiniatures(view, data, send, makeParts) {
  const { header, rest } = unpack(data);
  let offset = 0;
  const items = header.items.map((item) => {
    const cells = rest.subarray(offset, (offset += item.rows * item.columns));
    return { ...item, cells, canvas: element("canvas", "miniature") };
  });
  Object.assign(view, { header, items, send });
  const focused = view.root.querySelector("button:focus")?.dataset.name;
  for (const part of view.parts) part.remove();
  view.parts = makeParts(view);
  view.root.append(...view.parts);
  view.root.querySelector(`button[data-name="${focused}"]`)?.focus();
  view.roving.rest(view.root.querySelector('[aria-pressed="true"]') ?? view.root.querySelector("button"));
  paintAll(view);
}

export function makeButton({ header }, item, className) {
  const button = element("button", className);
  const frame = element("span", "frame");
  frame.append(item.canvas);
  button.append(frame);
  Object.assign(button, { type: "button", tabIndex: -1, ariaPressed: String(item.name === header.chosen) });
  button.dataset.name = item.name;
  return button;
}

function paintAll(view) {
  const colors = view.header.colors[view.theme()];
  for (const item of view.items) paintMiniature(item.canvas, item, colors, view.side);
}
