// Walking over the drawing of a model: what is pointed at, or reached with the arrow keys, and what is marked as chosen.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { middleOf, nearest } from "../../../../../headlight/components/kit/roving.js";

export function mark(view) {
  // Shows what is chosen, and lets Tab stop there.
  const nodes = [...view.groups.values()];
  for (const node of nodes) node.setAttribute("aria-pressed", String(nameOf(view, node) === view.chosen));
  view.roving.rest(nodes.find((node) => node.getAttribute("aria-pressed") === "true") ?? nodes[0]);
}

export function nameOf(view, node) {
  // The name of a box, with the number of its layer.
  const { box, stack, layer } = node.dataset;
  if (!box) return `${stack}.${layer}`;
  return box.replace("*", view.layers[box.split(".")[0]]);
}

export function next(view, key, node) {
  if (key === "Escape") return point(view, null);
  if (!key.startsWith("Arrow")) return undefined;
  const middle = (one) => {
    const ground = one.querySelector(".ground");
    const { x, y } = middleOf(ground);
    return { x, y: one.matches(".frame") ? ground.getBoundingClientRect().top + 10 : y };
  };
  const nodes = [...view.groups.values()];
  return nodes[nearest(key, middle(node), nodes.map(middle))] ?? null;
}

export function point(view, node) {
  view.pointed = node;
  view.svg.classList.toggle("pointing", Boolean(node));
  const name = node?.dataset.box ?? (node ? plateNames(view, node) : null);
  const names = new Set([name].flat().filter(Boolean));
  const near = new Set(names);
  const arrows = [...view.layersOf[2].querySelectorAll(".arrow")];
  // What goes around a sub-layer belongs to its path: both meet in the same sum.
  const sums = new Set(arrows.filter(({ dataset }) => names.has(dataset.start)).map(({ dataset }) => dataset.end));
  for (const arrow of arrows) {
    const { start, end } = arrow.dataset;
    const isAround = arrow.matches(".residual") && sums.has(end);
    const isLit = names.has(start) || names.has(end) || isAround;
    arrow.classList.toggle("lit", isLit);
    if (isLit) [start, end].forEach((one) => near.add(one));
  }
  for (const other of view.groups.values()) {
    other.classList.toggle("lit", other === node);
    other.classList.toggle("near", near.has(other.dataset.box));
  }
  placeTip(view, node);
}

function plateNames(view, node) {
  // What arrows call a plate.
  const { stack, layer } = node.dataset;
  const plates = view.plan.plates.filter((plate) => plate.stack === stack);
  const open = view.layers[stack];
  const at = Number(layer);
  const calls = { entry: open - 1, above: open + 1, bottom: 0, top: plates.at(-1)?.layer };
  return Object.keys(calls).filter((part) => calls[part] === at).map((part) => `${stack}.${part}`);
}

function placeTip(view, node) {
  const { tip } = view;
  const lines = node && (node.tip ?? [node.getAttribute("aria-label")]);
  if (!lines) {
    if (tip.matches(":popover-open")) tip.hidePopover();
    return;
  }
  const [first, ...rest] = lines;
  tip.replaceChildren(element("b", "", first), ...rest.map((line) => element("div", "", line)));
  if (!tip.matches(":popover-open")) tip.showPopover();
  const box = (node.matches(".frame") ? node.querySelector(".layer") : node).getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  // Beside the frame, so that what lights up is not covered.
  const stack = (node.dataset.box ?? "").split(".")[0] || node.dataset.stack;
  const frame = view.groups.get(`${stack}.*`) ?? view.groups.get(`${view.data.stacks.at(-1).name}.*`);
  const right = Math.max(box.right, frame.querySelector(".ground").getBoundingClientRect().right) + 8;
  const left = right + width < innerWidth - 8 ? right : Math.max(8, box.left - width - 12);
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.min(Math.max(8, box.top + box.height / 2 - height / 2), innerHeight - height - 8)}px`;
}
