// The residual stream, as arrows over the panels of a lane: it goes around each sub-layer, and what the sub-layer gives
// is added to it (the paper's figure 1).

import { set, svg } from "../../../../../headlight/components/kit/elements.js";
import { BAND } from "./layout.js";

const LINE = 5; // px from the upper edge of the band, where the stream goes along
const READ = 11; // where the block's input goes along, if all its sub-layers read it
const INSET = 6; // of arrows from the edges of what they lead into
const RADIUS = 3.5; // of the sign of a sum
const HEAD = 4; // of an arrow

/** @typedef {{name: string, isStream: boolean}} Panel */

/**
 * What is written between a panel and the one before it.
 *
 * @param {Panel[]} panels
 * @param {number} i
 * @param {string} level
 */
export function jointOf(panels, i, level) {
  const [before, panel] = [panels[i - 1], panels[i]];
  if (!before || ["k", "v"].includes(panel.name)) return "";
  if (panel.name === "position" || panel.name === "segment") return "+";
  if (panel.name === "sum") return "=";
  const isWithin = [panels.slice(0, i), panels.slice(i)].every((part) => part.some(({ isStream }) => isStream));
  return isWithin && (level === "overview" || before.isStream !== panel.isStream) ? "" : "›"; // the stream has arrows
}

/**
 * The sub-layers that the stream goes around: of each the first and the last panel, and the values of the stream that
 * it is read from and added to. On the overview a sub-layer is one panel.
 *
 * @param {Panel[]} panels
 * @param {string} level
 */
export function sublayersOf(panels, level) {
  const places = panels.flatMap(({ isStream }, i) => (isStream ? [i] : []));
  return places.slice(1).flatMap((to, i) => {
    const from = places[i];
    const inside = Array.from({ length: to - from - 1 }, (_, n) => from + 1 + n);
    if (!inside.length) return [];
    const parts = level === "overview" ? inside.map((one) => [one, one]) : [[inside[0], inside[inside.length - 1]]];
    return [{ from, to, parts }];
  });
}

/**
 * @param {Panel[]} panels
 * @param {{left: number, right: number}[]} boxes - of the panels
 * @param {{level: string, isParallel: boolean}} how - parallel: all sub-layers of a block read its input
 */
export function waysOf(panels, boxes, { level, isParallel }) {
  const middle = (i) => (boxes[i].left + boxes[i].right) / 2;
  const ways = { lines: "", arrows: "", sums: /** @type {{x: number, y: number}[]} */ ([]) };
  const into = (x, y) => {
    ways.lines += `M${x} ${y}V${BAND - HEAD}`;
    ways.arrows += `M${x} ${BAND}l-2.5 ${-HEAD}h5z`;
  };
  const all = sublayersOf(panels, level);
  for (const { from, to, parts } of all) {
    ways.lines += `M${middle(from) + 3} ${BAND}V${LINE}H${middle(to) - 3}`;
    into(middle(to) - 3, LINE);
    for (const [first, last] of parts) {
      const read = boxes[first].left + INSET;
      const written = boxes[last].right - INSET;
      if (isParallel) ways.lines += `M${middle(level === "overview" ? from : all[0].from) + 3} ${READ}H${read}`;
      into(read, isParallel ? READ : LINE);
      ways.lines += `M${written} ${BAND}V${LINE + RADIUS}`;
      ways.sums.push({ x: written, y: LINE });
    }
  }
  return ways;
}

/** Draws the stream into a strip, whose panels have their places. */
export function drawStream(strip, lane, header) {
  if (!lane.panels.some(({ isStream }) => isStream)) return;
  const boxes = [...strip.querySelectorAll(".panel")].map(({ offsetLeft, offsetWidth }) => ({ left: offsetLeft, right: offsetLeft + offsetWidth }));
  const { lines, arrows, sums } = waysOf(lane.panels, boxes, header);
  const sheet = svg("svg", { class: "stream" });
  sheet.setAttribute("aria-hidden", "true");
  set(sheet, { width: boxes.at(-1)?.right ?? 0, height: BAND });
  sheet.append(svg("path", { class: "way", d: lines }), svg("path", { class: "end", d: arrows }));
  for (const { x, y } of sums) {
    sheet.append(svg("circle", { class: "sum", cx: x, cy: y, r: RADIUS }), svg("path", { class: "way", d: `M${x - 2} ${y}h4M${x} ${y - 2}v4` }));
  }
  strip.append(sheet);
}
