// Draws a model: frames, plates and boxes, the arrows between them, and labels. What stays keeps its element.

import { set, svg } from "../../../../../headlight/components/kit/elements.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { leastText } from "../../../../../headlight/components/kit/theme.js";
import { drawArrows, fillEdges } from "./flow.js";
import { arrange } from "./layout.js";
import { mark, point } from "./walk.js";

const LARGEST = 1.08; // times its own size

export function draw(view) {
  const { data, layers } = view;
  const plan = arrange(data, layers);
  view.plan = plan;
  view.svg.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`);
  view.svg.style.setProperty("--widest", `${Math.round(plan.width * LARGEST)}px`);
  view.svg.setAttribute("aria-label", data.name);
  fillEdges(plan, data);
  const former = view.groups;
  view.groups = new Map();
  drawFrames(view, former);
  drawPlates(view, former);
  drawBoxes(view, former);
  for (const [key, group] of former) if (!view.groups.has(key)) group.remove();
  drawArrows(view);
  drawLabels(view);
  mark(view);
  if (view.pointed) point(view, view.pointed.isConnected ? view.pointed : null); // its arrows are new, and its words may be
}

function groupOf(view, former, key, place, make) {
  // What is drawn under this key: what was there in the former drawing, or else something new.
  let group = former.get(key);
  if (!group) {
    group = make();
    group.setAttribute("tabindex", "-1");
    view.layersOf[place].append(group);
  }
  view.groups.set(key, group);
  return group;
}

function drawFrames(view, former) {
  for (const frame of view.plan.frames) {
    const key = `${frame.stack}.*`;
    const group = groupOf(view, former, key, 0, () => {
      const node = svg("g", { class: "node frame" });
      node.append(svg("rect", { class: "ground" }), svg("text", { class: "layer" }), " ", svg("text", { class: "times" }));
      return node;
    });
    const { left, right } = frame.frame;
    const [ground, layer, times] = group.children;
    set(ground, { x: left, y: frame.y - frame.height / 2, width: right - left, height: frame.height, rx: 12 });
    const isLeft = frame.side < 0;
    layer.textContent = say("layer {layer}", { layer: frame.layer });
    set(layer, { x: isLeft ? right - 12 : left + 12, y: frame.y - frame.height / 2 + 17 });
    layer.setAttribute("text-anchor", isLeft ? "end" : "start");
    times.textContent = `${frame.layers} ×`;
    set(times, { x: isLeft ? left - 10 : right + 10, y: frame.y + 6 });
    times.setAttribute("text-anchor", isLeft ? "end" : "start");
    const box = view.data.stacks.find(({ name }) => name === frame.stack).whole;
    describe(view, group, box, frame);
  }
}

function drawPlates(view, former) {
  for (const plate of view.plan.plates) {
    const key = `plate ${plate.stack} ${plate.layer}`;
    const group = groupOf(view, former, key, 1, () => {
      const node = svg("g", { class: "node plate" });
      node.append(svg("rect", { class: "ground" }), svg("text", { class: "layer" }));
      return node;
    });
    const [ground, layer] = group.children;
    const { left, right } = plate.frame;
    set(ground, { x: left, y: plate.y - plate.height / 2, width: right - left, height: plate.height, rx: Math.min(6, plate.height / 2) });
    layer.textContent = plate.isNamed ? say("layer {layer}", { layer: plate.layer }) : "";
    set(layer, { x: plate.x, y: plate.y + 3.7 });
    group.dataset.stack = plate.stack;
    group.dataset.layer = plate.layer;
    group.setAttribute("role", "button");
    group.setAttribute("aria-label", say("Open layer {layer}", { layer: plate.layer }));
  }
}

function drawBoxes(view, former) {
  for (const [name, item] of view.plan.items) {
    const { kind, heads, mask } = item.box;
    const key = [name, kind, heads, mask].join(" "); // a box that is made of other parts is made again
    const group = groupOf(view, former, key, 3, () => makeBox(item));
    group.style.transform = `translate(${item.x}px, ${item.y}px)`;
    fillBox(group, item, leastText(view.svg));
    describe(view, group, item.box, item);
  }
}

function makeBox({ box, round }) {
  const node = svg("g", { class: `node box ${box.kind}` });
  /** @type {(Node | string)[]} */
  const parts = round ? [svg("circle", { class: "ground" }), svg("path", { class: "plus" })] : [svg("rect", { class: "ground" }), svg("text", { class: "title" }), " ", svg("text", { class: "sub" })];
  for (let i = 0; i < box.heads; i += 1) parts.unshift(svg("rect", { class: "head" }));
  if (box.mask) parts.push(maskOf(box.mask));
  node.append(...parts);
  return node;
}

function fillBox(group, { box, width, height, round }, least) {
  group.style.setProperty("--hue", `var(--${box.hue})`);
  const ground = group.querySelector(".ground");
  if (round) {
    set(ground, { r: width / 2 });
    group.querySelector(".plus").setAttribute("d", "M-6 0H6M0 -6V6");
    return;
  }
  set(ground, { x: -width / 2, y: -height / 2, width, height, rx: 8 });
  [...group.querySelectorAll(".head")].forEach((head, i) => {
    const by = 3 * (box.heads - i);
    set(head, { x: -width / 2 + by, y: -height / 2 - by, width: width - by, height, rx: 8 });
  });
  const [title, sub] = group.querySelectorAll("text");
  title.textContent = box.title;
  sub.textContent = box.sub;
  const room = width - 14 - (box.mask ? 26 : 0);
  for (const [text, size] of [[title, box.small ? 11.5 : 13.5], [sub, 11]]) fitText(text, room, size, least);
  const x = box.mask ? -11 : 0;
  set(title, { x, y: box.sub ? -3 : 4.5 });
  set(sub, { x, y: 13 });
}

function fitText(text, room, size, least) {
  // A long name is written smaller, so that it is never cut, and narrower where it would be too small.
  text.removeAttribute("textLength");
  const usual = Math.max(size, least);
  text.style.fontSize = `${usual}px`;
  const length = text.getComputedTextLength?.() ?? 0;
  const fitting = (usual * room) / length;
  if (length <= room) return;
  text.style.fontSize = `${Math.max(fitting, least)}px`;
  if (fitting < least) set(text, { textLength: room, lengthAdjust: "spacingAndGlyphs" });
}

function maskOf(cells) {
  // A small picture of who may look at whom: rows are queries.
  const node = svg("g", { class: "mask" });
  [...cells].forEach((cell, i) => {
    const one = svg("rect", { class: cell === "1" ? "may" : "may not" });
    set(one, { x: 72 + 5 * (i % 4), y: -10 + 5 * Math.floor(i / 4), width: 4, height: 4, rx: 0.8 });
    node.append(one);
  });
  return node;
}

function describe(view, group, box, { layer }) {
  const open = layer ?? view.layers[box.stack];
  group.dataset.box = box.name;
  group.setAttribute("role", "button");
  let name = box.title;
  if (box.kind === "layer") name = say("Layer {layer}", { layer: open });
  else if (box.name.includes("*")) name += `, ${say("layer {layer}", { layer: open })}`;
  group.tip = [name, ...box.tip];
  const written = [...group.querySelectorAll("text")].map(({ textContent }) => textContent).join(" ");
  group.setAttribute("aria-label", [written, ...group.tip].join(". "));
}

function drawLabels(view) {
  const { plan, layersOf } = view;
  const node = plan.labels.map(({ x, y, text, kind, anchor }) => {
    const label = svg("text", { class: `label ${kind}` });
    set(label, { x, y });
    label.setAttribute("text-anchor", anchor ?? "middle");
    label.textContent = text;
    return label;
  });
  layersOf[4].replaceChildren(...node);
}
