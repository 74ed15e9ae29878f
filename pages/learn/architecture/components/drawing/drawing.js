// A model as figure 1 of "Attention Is All You Need" would draw it: one layer of each stack is open, the others are
// plates. What is pointed at, or has the focus, lights up with the arrows that lead there and away; a click chooses it.
//
// data: stacks, head, output, arrows and hues, as __init__.py sends them; boxes of a layer have "*" for its number.

import { announce } from "../../../../../headlight/components/kit/announce.js";
import { element, svg } from "../../../../../headlight/components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { rove } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { SharedValue } from "../../../../../headlight/components/kit/shared_value.js";
import { draw } from "./sheet.js";
import { nameOf, next, point } from "./walk.js";

export default await mount(import.meta.url, {
  styles: ["../../../../../headlight/components/kit/tip.css", "./drawing.css"],
  make: makeView,
  update,
});

function update(view, data, send) {
  const { root } = view;
  view.data = data;
  view.send = send;
  const isHeard = view.block.hear(data.chosen);
  if (isHeard) view.chosen = data.chosen.value;
  for (const [kind, hue] of Object.entries(data.hues)) root.style.setProperty(`--${kind}`, hue);
  for (const { name, layer, layers } of data.stacks) {
    view.layers[name] = Math.min(isHeard ? layer : (view.layers[name] ?? layer), layers - 1);
  }
  draw(view);
}

function makeView(root) {
  const view = { root, layers: {}, groups: new Map(), pointed: null };
  view.block = new SharedValue((message) => view.send("block", message));
  view.svg = svg("svg", { class: "sheet" });
  view.svg.setAttribute("role", "group");
  view.layersOf = ["frames", "plates", "arrows", "boxes", "labels"].map((name) => svg("g", { class: name }));
  view.svg.append(...view.layersOf);
  view.tip = element("div", "tip");
  view.tip.popover = "manual"; // above everything, and cut by nothing
  view.tip.setAttribute("aria-hidden", "true"); // the boxes' names say the same
  root.append(view.svg, view.tip);
  view.roving = rove(view.svg, {
    of: ".node",
    next: (key, node) => next(view, key, node),
    onPoint: (node) => point(view, node),
    onChoose: (node) => choose(view, node),
  });
  return view;
}

function choose(view, node) {
  const { stack, layer } = node.dataset;
  let name = nameOf(view, node);
  if (layer !== undefined) {
    // Another layer: selects the same box in it if a layer of this stack is selected.
    const parts = view.chosen.split(".");
    if (parts[0] === stack && parts.length > 2) name = [stack, layer, ...parts.slice(2)].join(".");
    view.layers[stack] = Number(layer);
  }
  view.chosen = name;
  const hasFocus = node.matches(":focus"); // which a plate loses: it gives way to the open layer
  draw(view);
  if (hasFocus) reach(view, name)?.focus({ preventScroll: true });
  view.block.tell(name);
  announce(say("Chosen: {name}", { name: reach(view, name)?.getAttribute("aria-label") }));
  reveal();
}

function reveal() {
  // In a narrow window the block's details are below the drawing: scroll them into view.
  const panel = document.querySelector(".st-key-hl-arch-block");
  if (panel && panel.getBoundingClientRect().top > innerHeight - 160) panel.scrollIntoView({ block: "start" });
}

function reach(view, name) {
  return [...view.groups.values()].find((node) => nameOf(view, node) === name);
}
