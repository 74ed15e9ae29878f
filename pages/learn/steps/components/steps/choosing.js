// Choosing a query, a key or a number in the figure, the lens or the chips; a chosen number shows its formula.

import { announce } from "../../../../../headlight/components/kit/announce.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { ask } from "./asked.js";
import { showLens } from "./lens.js";
import { makeOfQuery, tokenOf, wholeCell, wordsOfMark } from "./numbers.js";
import { paint } from "./paint.js";
import { showKeys, showQueries } from "./tokens_shown.js";

const SOON = 220; // ms before a chosen stage or query is sent to the page

export function strongestKey({ quantities, query }) {
  const pattern = quantities.get("pattern");
  const row = pattern.values.subarray(query * pattern.width, (query + 1) * pattern.width);
  return row.indexOf(Math.max(...row));
}

export function describe(view) {
  const { title } = view.header.stages[view.stage];
  const payload = { title, query: tokenOf(view, "query", view.query), key: tokenOf(view, "key", view.key) };
  view.canvas.setAttribute("aria-label", say("Stage {title}: query {query}, key {key}", payload));
}

export function chooseQuery(view, query) {
  Object.assign(view, { query, cell: null });
  view.key = strongestKey(view);
  makeOfQuery(view);
  showQueries(view);
  showKeys(view);
  showLens(view);
  describe(view);
  announce(view.canvas.ariaLabel);
  paint(view);
  tellSoon(view);
}

export function chooseKey(view, key, hasFocus = false) {
  view.key = Math.min(Math.max(key, 0), view.header.key.length - 1);
  showKeys(view);
  showLens(view);
  describe(view);
  announce(view.canvas.ariaLabel);
  paint(view);
  if (hasFocus) view.keys[view.key].focus({ preventScroll: true });
  tellSoon(view);
}

export function pointAtKey(view, key) {
  if (view.pointedKey === key) return;
  view.pointedKey = key;
  showLens(view);
  if (!view.motion) paint(view);
}

export function chooseCell(view, mark) {
  ask();
  const { rows, columns } = view.quantities.get(mark.name);
  view.cell = mark;
  if (rows === "key") view.key = mark.row;
  else if (columns === "key") view.key = mark.column;
  showKeys(view);
  showLens(view);
  announce(wordsOfMark(view, mark));
  paint(view);
  tell(view, {});
}

export function tellSoon(view) {
  view.at.touch();
  clearTimeout(view.telling);
  view.telling = setTimeout(() => tell(view, {}), SOON);
}

export function tell(view, wanted) {
  clearTimeout(view.telling);
  view.at.tell({ ...placeOf(view), ...wanted });
}

export function placeOf(view) {
  // Where a person is in the whole text.
  const { header, query, key, cell, stageName } = view;
  const { first } = header;
  return { stage: stageName, query: query + first.query, key: key + first.key, cell: cell && wholeCell(view, cell) };
}
