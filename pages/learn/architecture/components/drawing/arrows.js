// The ways of the arrows on the drawing of a model. Each gives {d, heads}: the path, and where it points to.

import { GAP, WIDE } from "./layout.js";

export const BEND = 9; // the radius of a corner
const SLOT = { key: -34, value: 0, query: 34 }; // where each enters an attention, from its middle
export const MEMORY_SLOT = { key: -62, value: -30, query: 0 };

export function wayOf(arrow, plan) {
  // plan: as `arrange` gives it; arrow: {start, end, flow, isMemory}. Null where an end is not drawn.
  const { start, end, flow } = arrow;
  const [from, to] = [start, end].map((name) => plan.items.get(name) ?? plan.edges.get(name));
  if (to && arrow.isMemory) return memoryWay(to, flow);
  if (!to || !from) return null;
  if (flow === "inside") return insideWay(from, to);
  if (flow === "residual") return residualWay(from, to);
  if (from.pill) return besideWay(from, to);
  if (flow === "stream") return straight(from.x, topOf(from), bottomOf(to));
  const slots = arrow.hasMemory ? MEMORY_SLOT : SLOT;
  return fanWay(from, to, to.x + slots[flow]);
}

export const topOf = (item) => item.y - item.height / 2;
export const bottomOf = (item) => item.y + item.height / 2;

export function straight(x, from, to) {
  return { d: `M${x} ${from}V${to}`, heads: [[x, to, "up"]] };
}

function fanWay(from, to, x) {
  // From the top of what comes before to a slot at the bottom of an attention.
  const parting = bottomOf(to) + 26;
  const end = bottomOf(to);
  const start = topOf(from);
  const d =
    x === to.x
      ? `M${to.x} ${start}V${end}`
      : `M${to.x} ${start}V${parting}C${to.x} ${parting - 12} ${x} ${parting - 6} ${x} ${end + 6}V${end}`;
  const isLeft = x < to.x;
  return { d, heads: [[x, end, "up"]], letter: [x + (isLeft ? -5 : 5), end + 15, isLeft ? "end" : "start"] };
}

function residualWay(from, to) {
  // Around a sub-layer: from the junction below it, out, up, and in to the sum. On the other side where it leads into a
  // normalization: a feed-forward network that reads what the attention beside it reads.
  const isParallel = to.box.kind === "norm";
  const side = isParallel ? -to.side : to.side;
  const x = to.x + side * (WIDE / 2 + (isParallel ? 9 : 15));
  const start = topOf(from) - 8;
  const end = to.y;
  const target = to.x + side * (to.width / 2);
  const d =
    `M${to.x} ${start}H${x - side * BEND}Q${x} ${start} ${x} ${start - BEND}` +
    `V${end + BEND}Q${x} ${end} ${x - side * BEND} ${end}H${target}`;
  return { d, heads: [[target, end, side > 0 ? "left" : "right"]], dot: [to.x, start] };
}

function besideWay(from, to) {
  // From a part beside the stream into a sum.
  const start = from.x - from.pill * (from.width / 2);
  const end = to.x + from.pill * (to.width / 2);
  return { d: `M${start} ${from.y}H${end}`, heads: [[end, from.y, from.pill > 0 ? "left" : "right"]] };
}

function insideWay(from, to) {
  // From positions that act inside attention: up beside the frame, and in.
  const x = from.pill > 0 ? to.frame.right + 11 : to.frame.left - 11;
  const out = from.pill > 0 ? Math.min(x, from.x + from.width / 2 - 8) : Math.max(x, from.x - from.width / 2 + 8);
  const end = to.x + from.pill * (to.width / 2);
  const turn = -from.pill;
  const shift = out === x ? "" : `V${topOf(from) - 8}H${x}`;
  return {
    d: `M${out} ${topOf(from)}${shift}V${to.y + BEND}Q${x} ${to.y} ${x + turn * BEND} ${to.y}H${end}`,
    heads: [[end, to.y, turn > 0 ? "right" : "left"]],
  };
}

function memoryWay(to, flow) {
  // The last stretch: from the memory's line below the attention up into it.
  const x = to.x + MEMORY_SLOT[flow];
  const end = bottomOf(to);
  return { d: `M${x - BEND} ${end + 20}Q${x} ${end + 20} ${x} ${end + 20 - BEND}V${end}`, heads: [[x, end, "up"]], letter: [x + 5, end + 15, "start"] };
}

export function memoryTrunk(from, targets) {
  // From the top of the encoder to beside the decoder, and along it to each attention that looks at it.
  const x = from.frame.right + GAP / 2;
  const top = topOf(from) - 18;
  const levels = targets.map(({ y }) => y);
  const ways = [`M${from.x} ${topOf(from)}V${top + BEND}Q${from.x} ${top} ${from.x + BEND} ${top}H${x}`];
  ways.push(`M${x} ${Math.min(top, ...levels)}V${Math.max(top, ...levels)}`);
  for (const { y, end } of targets) ways.push(`M${x} ${y}H${end}`);
  return { d: ways.join(""), heads: targets.filter(({ isPlate }) => isPlate).map(({ y, end }) => [end, y, "right"]), at: [from.x + 12, top - 6] };
}

export const HEADS = { up: "0,0 -3.6,7 3.6,7", right: "0,0 -7,-3.6 -7,3.6", left: "0,0 7,-3.6 7,3.6" };
