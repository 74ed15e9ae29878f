// Describes the part of the stage under the pointer: below the stage, and a weight beside the pointer, too.

import { announce } from "../../../../../headlight/components/kit/announce.js";
import { element } from "../../../../../headlight/components/kit/elements.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { followGuide } from "./guide.js";
import { cellAt } from "./layout.js";
import { nShown, repaint } from "./panels.js";
import { weightInWords, wordsOf } from "./words.js";

const HINT = say("Point at a cell to see its value. Open a block or a head to zoom in; Escape zooms out.");
const AWAY = 14; // px, of the tip from the pointer

/** @typedef {{side: string, row: number, key?: {side: string, row: number}}} Pointed */

export function makePointing(view) {
  view.says = element("p", "says", HINT);
  view.says.setAttribute("aria-hidden", "true");
  view.tip = element("div", "tip");
  view.tip.popover = "manual"; // above everything, and cut by nothing
  view.tip.setAttribute("aria-hidden", "true");
  view.lanes.addEventListener("pointermove", (event) => point(view, event));
  view.lanes.addEventListener("pointerleave", () => point(view, null));
  for (const kind of ["focusin", "click"]) view.lanes.addEventListener(kind, (event) => event.target.closest(".token") && select(view, event)); // a tap, too
  view.lanes.addEventListener("focusout", ({ relatedTarget }) => relatedTarget?.matches(".token") || point(view, null));
  return [view.says, view.tip];
}

function select(view, event) {
  point(view, event);
  announce(view.sources.textContent);
  followGuide(view, view.sources);
}

/** Marks what an event points at, or nothing, and describes it. */
export function point(view, event) {
  const target = event?.target instanceof Element ? event.target : null;
  const canvas = target?.closest("canvas") ?? target?.querySelector(":scope > canvas");
  const item = target?.closest(".token");
  /** @type {Pointed | null} */
  let pointed = null;
  let words = HINT;
  let tip = /** @type {string[]} */ ([]);
  if (canvas) {
    const { panel, head, quantity, rows, columns } = canvas.picture;
    const box = canvas.getBoundingClientRect();
    const at = cellAt({ x: event.clientX - box.left, y: event.clientY - box.top }, box, { rows, columns });
    if (at.row < nShown(view, panel.rows) && (!panel.columns || at.column < nShown(view, panel.columns))) {
      const value = quantity.values[at.row * columns + at.column];
      pointed = { side: panel.rows, row: at.row, ...(panel.columns && { key: { side: panel.columns, row: at.column } }) };
      words = wordsOf(panel, view.header.sides, { head, ...at }, value);
      if (panel.columns) tip = weightInWords(panel, view.header.sides, { head, ...at }, value);
    }
  } else if (item) {
    const strip = view.strips.find(({ tokens }) => tokens.contains(item));
    pointed = { side: strip.side, row: Number(item.dataset.row) };
    words = item.title;
  }
  view.isHeld = ["focusin", "click"].includes(event?.type) && Boolean(pointed);
  view.says.textContent = words;
  showTip(view.tip, tip, event);
  if (isSame(pointed, view.pointed)) return;
  view.pointed = pointed;
  repaint(view);
}

function isSame(one, other) {
  return one?.side === other?.side && one?.row === other?.row && one?.key?.row === other?.key?.row;
}

function showTip(tip, lines, event) {
  if (!lines.length) return tip.hidePopover();
  tip.replaceChildren(...lines.map((line) => element("div", "", line)));
  if (!tip.matches(":popover-open")) tip.showPopover();
  const { width, height } = tip.getBoundingClientRect();
  const isBelow = event.clientY + AWAY + height < window.innerHeight;
  tip.style.left = `${Math.max(8, Math.min(event.clientX + AWAY, window.innerWidth - width - 8))}px`;
  tip.style.top = `${isBelow ? event.clientY + AWAY : event.clientY - AWAY - height}px`;
  return undefined;
}
