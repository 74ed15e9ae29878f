// The lens: the numbers of the present stage themselves, of the chosen query and key; a click asks for a formula.

import { scientific, thousands } from "../../../../../headlight/components/kit/numbers.js";
import { element } from "../../../../../headlight/components/kit/elements.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { colorOf, inkOf } from "./colors.js";
import { tokenOf, valueAt, writeNumber } from "./numbers.js";

const MOST_NUMBERS = 128; // of a vector that are all written out
const LARGEST = 64; // of a longer one, this many of its largest that are not 0

export function makeLens(view) {
  view.lens = element("div", "lens");
  view.lens.setAttribute("role", "group");
  view.lens.setAttribute("aria-label", say("The numbers of this stage"));
  return view.lens;
}

export function showLens(view) {
  const names = [...view.header.stages[view.stage].shown];
  const rows = names.map((name) => lensRow(view, view.quantities.get(name)));
  const numbers = () => [...view.lens.querySelectorAll(".number")];
  const focused = numbers().findIndex((number) => number.matches(":focus"));
  view.lens.replaceChildren(...rows);
  numbers()[focused]?.focus({ preventScroll: true });
  view.rovingNumbers.rest(numbers()[0]);
}

function lensRow(view, quantity) {
  const { header, palette, cell } = view;
  const row = quantity.rows === "key" ? view.pointedKey ?? view.key : view.query;
  const box = element("div", "vector");
  const head = element("div", "head");
  const symbol = element("strong", "symbol", quantity.symbol);
  if (quantity.hue) symbol.style.setProperty("--hue", palette.hues[quantity.hue]);
  const side = quantity.rows === "key" ? "key" : "query";
  const of = side === "key" ? say("key {token}", { token: tokenOf(view, side, row) }) : say("query {token}", { token: tokenOf(view, side, row) });
  head.append(symbol, element("span", "of", of), element("span", "what", quantity.title));
  const cells = element("div", quantity.columns === "key" ? "cells of-keys" : "cells");
  const columns = columnsOf(quantity, row);
  if (columns.length < quantity.width) {
    const values = { n: columns.length, all: thousands(quantity.width) };
    head.append(element("span", "what", columns.length === LARGEST ? say("largest {n} of {all}", values) : say("{n} of {all} are not 0", values)));
  }
  for (const column of columns) {
    const value = valueAt(quantity, row, column);
    const number = element("button", "number", quantity.name === "mask" ? String(value) : written(value));
    Object.assign(number, { type: "button", tabIndex: -1 });
    Object.assign(number.dataset, { name: quantity.name, row, column });
    number.style.background = colorOf(palette, quantity, value);
    number.style.color = inkOf(palette, quantity, value);
    if (cell?.name === quantity.name && cell.row === row && cell.column === column) number.classList.add("chosen");
    if (quantity.columns === "key") {
      const item = element("span", "item");
      item.append(number, element("bdi", "below", header.key[column]));
      cells.append(item);
    } else cells.append(number);
  }
  box.append(head, cells);
  return box;
}

function written(value) {
  const size = Math.abs(value);
  if (!size || !Number.isFinite(value) || size >= 0.0005) return writeNumber(value, size >= 100 ? 1 : 3);
  return scientific(value, 0);
}

function columnsOf(quantity, row) {
  const all = Array.from({ length: quantity.width }, (_, column) => column);
  if (quantity.width <= MOST_NUMBERS) return all;
  const size = (column) => Math.abs(valueAt(quantity, row, column));
  return all
    .filter((column) => size(column) !== 0)
    .sort((one, other) => size(other) - size(one))
    .slice(0, LARGEST)
    .sort((one, other) => one - other);
}
