// A gallery of masks, each small enough to be seen at one glance; a click chooses.
//
// data: as packing.py packs it; header.items, each with name, title, help, group, rows and columns; then their cells,
// one byte each.

import { element } from "../../../../components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { unpack } from "../../../../components/kit/packing.js";
import { watchTheme } from "../../../../components/kit/theme.js";
import { paintMiniature } from "./paint.js";

const SIDE = 48; // px of a miniature

export default await mount(import.meta.url, {
  styles: ["./mask_gallery.css"],
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
  view.send = (name) => send("chosen", { name });
  let offset = 0;
  view.items = header.items.map((item) => {
    const cells = rest.subarray(offset, (offset += item.rows * item.columns));
    return { ...item, cells, canvas: element("canvas", "miniature") };
  });
  const focused = root.querySelector("button:focus")?.dataset.name;
  root.querySelectorAll(".group").forEach((group) => group.remove());
  for (const name of [...new Set(view.items.map(({ group }) => group))]) root.append(makeGroup(view, name));
  root.querySelector(`button[data-name="${focused}"]`)?.focus();
  paintAll(view);
}

function makeGroup(view, name) {
  const group = element("div", "group");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", name);
  const row = element("div", "row");
  for (const item of view.items.filter((one) => one.group === name)) {
    const button = element("button", "item");
    Object.assign(button, { type: "button", title: item.help });
    button.dataset.name = item.name;
    button.setAttribute("aria-pressed", String(item.name === view.header.chosen));
    const frame = element("span", "frame");
    frame.append(item.canvas);
    button.append(frame, element("span", "title", item.title));
    button.addEventListener("click", () => view.send(item.name));
    row.append(button);
  }
  group.append(element("div", "name", name), row);
  return group;
}

function paintAll(view) {
  const colors = view.header.colors[view.theme()];
  for (const item of view.items) paintMiniature(item.canvas, item, colors, SIDE);
}
