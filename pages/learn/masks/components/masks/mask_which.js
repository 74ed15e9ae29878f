// The attentions of a model as they lie in the paper's figure 1, each with its mask in small; a click chooses one.
//
// data: see miniatures.js; an item has from, to, mask and why, too. header.joins: what is written on the arrows, or
// nothing where there is one attention only; header.note: the text beside them.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { makeButton, makeMiniatures, showMiniatures } from "./miniatures.js";

const SIDE = 132; // px of a mask

export default await mount(import.meta.url, {
  styles: ["./mask_which.css"],
  make: (root) => makeMiniatures(root, SIDE),
  update: (view, data, send) => showMiniatures(view, data, send, makeParts),
});

function makeParts(view) {
  const { root, header, items } = view;
  root.classList.toggle("alone", items.length === 1);
  const joins = Object.entries(header.joins).map(([name, text]) => {
    const join = element("div", `join ${name}`);
    const arrow = element("span", "arrow", name === "memory" ? "→" : "↑");
    arrow.setAttribute("aria-hidden", "true");
    join.append(element("span", "text", text), arrow);
    return join;
  });
  return [...items.map((item) => makeCard(view, item)), ...joins, ...(header.note ? [element("p", "note", header.note)] : [])];
}

function makeCard(view, item) {
  const card = makeButton(view, item, `card ${item.name}`);
  const [words, ends] = [element("span", "words"), element("span", "ends")];
  for (const [side, text] of [["query", item.from], ["key", item.to]]) {
    const end = element("span", "end", text);
    end.style.setProperty("--hue", view.header.hues[side]);
    ends.append(end);
  }
  words.append(element("b", "title", item.title), ends);
  words.append(element("span", "mask", item.mask), element("span", "why", item.why));
  card.append(words);
  return card;
}
