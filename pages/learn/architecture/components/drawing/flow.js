// The arrows on the drawing of a model: those of the open layers, the stream through the plates, and the memory.

import { set, svg } from "../../../../../headlight/components/kit/elements.js";
import { BEND, bottomOf, HEADS, MEMORY_SLOT, memoryTrunk, straight, topOf, wayOf } from "./arrows.js";
import { WIDE } from "./layout.js";

export function fillEdges(plan, data) {
  // What a layer's first arrows come from, and what the stream continues to after its last: a plate, or a box.
  plan.edges = new Map();
  for (const frame of plan.frames) {
    const { stack: name, layer, layers } = frame;
    const stack = data.stacks.find((other) => other.name === name);
    const plateOf = (wanted) => plan.plates.find((plate) => plate.stack === name && plate.layer === wanted);
    const before = stack.before.filter(({ kind }) => ["embedding", "sum", "norm", "projection"].includes(kind)).at(-1);
    const below = layer ? plateOf(layer - 1) : plan.items.get(before.name);
    // The stream enters the frame at its bottom: there it can part.
    plan.edges.set(`${name}.below`, { ...frame, x: below.x, y: frame.y + frame.height / 2, height: 0, width: 0 });
    plan.edges.set(`${name}.entry`, { ...below, height: below.height });
    plan.edges.set(`${name}.top`, layer < layers - 1 ? plateOf(layers - 1) : { ...frame, width: WIDE });
    if (layer) plan.edges.set(`${name}.bottom`, plateOf(0));
    else plan.edges.set(`${name}.bottom`, { ...frame, width: WIDE });
    if (layer < layers - 1) plan.edges.set(`${name}.above`, plateOf(layer + 1));
  }
}

export function drawArrows(view) {
  const { data, plan, layersOf } = view;
  const all = [];
  const memoryTo = new Set(data.arrows.filter(({ memory }) => memory).map(({ end }) => end));
  for (const { start, end, flow, memory } of data.arrows) {
    const way = wayOf({ start, end, flow, isMemory: memory, hasMemory: memoryTo.has(end) }, plan);
    if (way) all.push({ start, end, flow, way });
  }
  for (const frame of plan.frames) all.push(...through(view, frame));
  const trunk = memoryArrow(view);
  if (trunk) all.unshift(trunk);
  layersOf[2].replaceChildren(...all.map(arrowGroup));
  const dots = all.filter(({ way }) => way.dot).map(({ way: { dot } }) => {
    const node = svg("circle", { class: "dot" });
    set(node, { cx: dot[0], cy: dot[1], r: 2.6 });
    return node;
  });
  layersOf[2].append(...dots);
}

function through(view, frame) {
  // The stream below, between and above the layers of a stack.
  const { plan, data } = view;
  const { stack: name, layer, layers } = frame;
  const stack = data.stacks.find((other) => other.name === name);
  const edge = (part) => plan.edges.get(`${name}.${part}`);
  const last = plan.items.get(stack.inside.at(-1).name);
  const [x, top] = [last.x, frame.y - frame.height / 2];
  const ways = [];
  const add = (start, end, from, to, hasHead = true) => {
    const d = `M${x} ${from}V${to}`;
    ways.push({ start, end, flow: "stream", way: { d, heads: hasHead ? [[x, to, "up"]] : [] } });
  };
  const first = stack.inside[0].name;
  const before = stack.before.filter(({ kind }) => ["embedding", "sum", "norm", "projection"].includes(kind)).at(-1);
  const lowest = edge("bottom");
  if (layer) {
    add(before.name, `${name}.bottom`, topOf(plan.items.get(before.name)), bottomOf(lowest));
    add(`${name}.entry`, first, topOf(edge("entry")), frame.y + frame.height / 2, false);
  } else {
    add(before.name, first, topOf(plan.items.get(before.name)), frame.y + frame.height / 2, false);
  }
  const next = stack.after[0] ?? (stack === data.stacks.at(-1) ? data.head[0] : null);
  const hasAbove = layer < layers - 1;
  if (hasAbove) add(last.box.name, `${name}.above`, topOf(last), bottomOf(edge("above")));
  if (next) {
    const from = hasAbove ? topOf(edge("top")) : topOf(last);
    add(hasAbove ? `${name}.top` : last.box.name, next.name, from, bottomOf(plan.items.get(next.name)));
  } else if (!hasAbove && stack !== data.stacks.at(-1)) {
    add(last.box.name, `${name}.out`, topOf(last), top, false);
  }
  const embed = plan.items.get(stack.before[0].name);
  ways.push({ start: "", end: embed.box.name, flow: "stream", way: straight(x, bottomOf(embed) + 20, bottomOf(embed)) });
  if (stack === data.stacks.at(-1)) {
    const end = plan.items.get((data.head.at(-1) ?? stack.after.at(-1))?.name); // none: the layers are all there is
    const from = end ? topOf(end) : hasAbove ? topOf(edge("top")) : topOf(last);
    const start = end?.box.name ?? (hasAbove ? `${name}.top` : last.box.name);
    const border = end || hasAbove ? from : top; // with nothing after the layers, the arrow begins inside the open one and leaves its frame
    ways.push({ start, end: "", flow: "stream", way: straight(end?.x ?? x, from, border - 20) });
  }
  return ways;
}

function memoryArrow(view) {
  // From the encoder to each cross-attention: that of the open layer, and those in the plates.
  const { plan, data } = view;
  if (data.stacks.length < 2) return null;
  const [encoder, decoder] = data.stacks;
  const after = encoder.after.at(-1);
  const from = after ? plan.items.get(after.name) : plan.edges.get(`${encoder.name}.top`);
  const cross = plan.items.get(`${decoder.name}.*.cross_attn`);
  const targets = plan.plates
    .filter(({ stack }) => stack === decoder.name)
    .map(({ y, frame }) => ({ y, end: frame.left, isPlate: true }));
  targets.push({ y: bottomOf(cross) + 20, end: cross.x + MEMORY_SLOT.value - BEND });
  const x = plan.items.get(encoder.inside[0].name).x;
  const way = memoryTrunk({ ...from, x }, targets);
  view.plan.labels.push({ x: way.at[0], y: way.at[1], text: data.memory, kind: "shape", anchor: "start" });
  const start = after?.name ?? (view.layers[encoder.name] < encoder.layers - 1 ? `${encoder.name}.top` : encoder.inside.at(-1).name);
  return { start, end: cross.box.name, flow: "memory", way };
}

function arrowGroup({ start, end, flow, way }) {
  const node = svg("g", { class: `arrow ${flow}` });
  Object.assign(node.dataset, { start, end });
  const line = svg("path", { class: "line" });
  line.setAttribute("d", way.d);
  node.append(line);
  for (const [x, y, direction] of way.heads) {
    const head = svg("polygon", { class: "head" });
    head.setAttribute("points", HEADS[direction]);
    head.setAttribute("transform", `translate(${x} ${y})`);
    node.append(head);
  }
  if (way.letter) {
    const letter = svg("text", { class: "letter" });
    letter.textContent = { query: "Q", key: "K", value: "V" }[flow];
    set(letter, { x: way.letter[0], y: way.letter[1] });
    letter.setAttribute("text-anchor", way.letter[2]);
    node.append(letter);
  }
  return node;
}
