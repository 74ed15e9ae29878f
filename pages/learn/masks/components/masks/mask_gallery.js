// A gallery of masks, each small enough to be seen at one glance; a click chooses.
//
// data: see miniatures.js; an item has a group and a help, too.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { makeButton, makeMiniatures, showMiniatures } from "./miniatures.js";

const SIDE = 48; // px of a miniature

export default await mount(import.meta.url, {
  styles: ["./mask_gallery.css"],
  make: (root) => makeMiniatures(root, SIDE),
  update: (view, data, send) => showMiniatures(view, data, send, makeGroups),
});

function makeGroups(view) {
  return [...new Set(view.items.map(({ group }) => group))].map((name) => makeGroup(view, name));
}

function makeGroup(view, name) {
  const group = element("div", "group");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", name);
  const row = element("div", "row");
  for (const item of view.items.filter((one) => one.group === name)) {
    const button = makeButton(view, item, "item");
    button.title = item.help;
    button.append(element("span", "title", item.title));
    row.append(button);
  }
  group.append(element("div", "name", name), row);
  return group;
}
