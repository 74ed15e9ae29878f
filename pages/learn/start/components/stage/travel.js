// What moves on the stage: the view that grows where one zooms in, and the new token's row on its way to the prediction.

import { element } from "../../../../../headlight/components/kit/elements.js";

const ZOOM_MS = 200;

/** Whether the reader wants nothing to move. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const depth = ({ crumbs }) => crumbs.length;

export function leaveFor(view, from) {
  // Grows what is zoomed in on until its values are there; where one zooms out, everything shrinks.
  const { lanes } = view;
  view.leaving?.cancel();
  if (isStill()) return;
  const box = lanes.getBoundingClientRect();
  const of = (from?.closest(".group, .panel") ?? lanes).getBoundingClientRect();
  lanes.style.transformOrigin = `${of.left + of.width / 2 - box.left}px ${of.top + of.height / 2 - box.top}px`;
  const to = { transform: from ? "scale(1.5)" : "scale(0.85)", opacity: 0.25 };
  view.leaving = lanes.animate?.([{ transform: "none", opacity: 1 }, to], { duration: ZOOM_MS, easing: "ease-in", fill: "forwards" });
}

export function arrive(view, former) {
  const { lanes } = view;
  lanes.style.transformOrigin = "50% 40%";
  if (isStill()) return;
  const isIn = depth(view.header) > depth(former);
  const from = { transform: isIn ? "scale(0.9)" : "scale(1.15)", opacity: 0.25 };
  lanes.animate?.([from, { transform: "none", opacity: 1 }], { duration: ZOOM_MS, easing: "ease-out" });
}

export function sweep(view) {
  // A bar runs along the row that is read now, from the token to its prediction.
  const place = view.strips.find(({ side }) => side === view.header.generating);
  if (isStill() || !place) return;
  const row = view.header.rows[view.at] + 1;
  const item = place.tokens.children[row];
  if (!item) return;
  const bar = element("span", "sweep");
  bar.style.top = `${item.offsetTop}px`;
  place.strip.append(bar);
  bar.addEventListener("animationend", () => bar.remove());
  setTimeout(() => bar.remove(), 1500); // where the page is in the background
}
