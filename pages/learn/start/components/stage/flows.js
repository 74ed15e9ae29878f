// The memory's way on the overview: from the encoder's last panel into the cross-attention of every decoder block.

import { set, svg } from "../../../../../headlight/components/kit/elements.js";

const BEND = 6;

export function drawFlows(view) {
  const { lanes, strips } = view;
  const memory = [...lanes.querySelectorAll('[data-stack="encoder"] .panel')].at(-1);
  const targets = [...lanes.querySelectorAll('[data-stack="decoder"] .panel[data-reads="memory"]')];
  if (strips.length < 2 || !memory || !targets.length) return;
  const sheet = svg("svg", { class: "flows" });
  sheet.setAttribute("aria-hidden", "true");
  lanes.append(sheet);
  const draw = () => sheet.replaceChildren(...flowsOf(lanes, memory, targets));
  for (const { strip } of strips) strip.addEventListener("scroll", draw);
  draw();
}

function flowsOf(lanes, memory, targets) {
  const origin = lanes.getBoundingClientRect();
  const inside = (element) => {
    const { left, top, width, bottom } = element.getBoundingClientRect();
    return { x: left + width / 2 - origin.left, top: top - origin.top, bottom: bottom - origin.top };
  };
  const from = inside(memory);
  const ends = targets.map(inside).filter(({ x }) => x > 0 && x < origin.width);
  if (from.x < 0 || from.x > origin.width || !ends.length) return [];
  const line = from.bottom + 12;
  const nodes = [svg("path", { class: "flow", d: wayOf(from.x, from.bottom, line, ends) })];
  for (const { x, top } of ends) nodes.push(set(svg("path", { class: "flow-head" }), { d: `M${x} ${top + 1}l-3.5 -7h7z` }));
  return nodes;
}

/** Down from the memory, along a line between the lanes, and down to each attention. */
export function wayOf(x, bottom, line, ends) {
  const [left, right] = [Math.min(x, ...ends.map((end) => end.x)), Math.max(x, ...ends.map((end) => end.x))];
  const parts = [`M${x} ${bottom}V${line}`, `M${left} ${line}H${right}`];
  for (const end of ends) parts.push(`M${end.x} ${line}V${Math.max(end.top - BEND, line)}`);
  return parts.join("");
}
