// Which tokens are chosen, and where the selected ones stand.

import { say } from "../../../../../headlight/components/kit/say.js";
import { LANE, STRIP } from "./columns.js";
import { tokenOf, valueAt } from "./numbers.js";

export function showQueries(view) {
  view.chips.forEach((chip, index) => {
    chip.setAttribute("aria-pressed", String(index === view.query));
  });
  view.rovingQueries.rest(view.chips[view.query]);
}

export function showKeys(view) {
  view.asking.textContent = view.header.query[view.query];
  view.asking.title = say("query {token}", { token: tokenOf(view, "query", view.query) });
  const mask = view.quantities.get("mask");
  view.keys.forEach((button, index) => {
    button.setAttribute("aria-pressed", String(index === view.key));
    button.tabIndex = index === view.key ? 0 : -1;
    button.classList.toggle("forbidden", Boolean(mask) && !valueAt(mask, view.query, index));
  });
}

export function placeTokens(view, { x, w }) {
  const { lines, labels } = view;
  const place = `${x.toFixed(1)}.${w.toFixed(1)}.${lines.pitch}.${lines.n}`;
  if (labels.dataset.place === place) return;
  labels.dataset.place = place;
  Object.assign(labels.style, { left: `${x}px`, width: `${w}px` });
  Object.assign(view.asking.style, { top: `${LANE}px`, height: `${STRIP}px`, lineHeight: `${STRIP}px` });
  view.keys.forEach((button, row) => {
    const size = { top: `${lines.top + row * lines.pitch}px`, height: `${lines.pitch}px` };
    Object.assign(button.style, size, { lineHeight: `${lines.pitch}px` });
  });
}
