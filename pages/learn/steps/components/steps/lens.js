// The lens: the numbers of the present stage themselves, of the chosen query and key; a click asks for a formula.

import { scientific, thousands } from "../../../../components/kit/numbers.js";
import { element } from "../../../../components/kit/elements.js";
import { say } from "../../../../components/kit/say.js";
import { colorOf, inkOf } from "./colors.js";
import { tokenOf, valueAt, wordsOf, writeNumber } from "./numbers.js";
import { point } from "./pointing.js";
import { chooseCell } from "./steps.js";

const MOST_NUMBERS = 128; // of a vector that are all written out
const LARGEST = 64; // of a longer one, so many of its largest

export function makeLens(view) {
  view.lens = element("div", "lens");
  view.lens.setAttribute("role", "group");
  view.lens.setAttribute("aria-label", say("The numbers of this stage"));
  view.lens.addEventListener("click", ({ target }) => {
    const number = target.closest(".number");
    if (number) chooseCell(view, markOf(number));
  });
  view.lens.addEventListener("mouseover", ({ target }) => {
    const number = target.closest(".number");
    point(view, number ? markOf(number) : null);
    if (number) number.title = wordsOfMark(view, markOf(number));
  });
  view.lens.addEventListener("mouseleave", () => point(view, null));
  view.lens.addEventListener("focusin", ({ target }) => {
    if (!target.matches(".number")) return;
    target.setAttribute("aria-label", wordsOfMark(view, markOf(target)));
    for (const other of view.lens.querySelectorAll(".number[tabindex='0']")) other.tabIndex = -1;
    target.tabIndex = 0;
    if (target.matches(":focus-visible")) point(view, markOf(target));
  });
  view.lens.addEventListener("focusout", () => point(view, null));
  view.lens.addEventListener("keydown", (event) => pressNumber(view, event));
  return view.lens;
}

function markOf(number) {
  const { name, row, column } = number.dataset;
  return { name, row: Number(row), column: Number(column) };
}

export function wordsOfMark(view, { name, row, column }) {
  return wordsOf(view, view.quantities.get(name), row, column);
}

export function showLens(view) {
  const names = [...view.header.stages[view.stage].shown];
  const rows = names.map((name) => lensRow(view, view.quantities.get(name)));
  view.lens.replaceChildren(...rows);
  const first = view.lens.querySelector(".number");
  if (first) first.tabIndex = 0;
}

function lensRow(view, quantity) {
  const { header, palette, cell } = view;
  const row = quantity.rows === "key" ? view.pointedKey ?? view.key : view.query;
  const box = element("div", "vector");
  const head = element("div", "head");
  const symbol = element("strong", "symbol", quantity.symbol);
  symbol.style.color = quantity.hue ? palette.hues[quantity.hue] : "";
  const side = quantity.rows === "key" ? "key" : "query";
  const of = side === "key" ? say("key {token}", { token: tokenOf(view, side, row) }) : say("query {token}", { token: tokenOf(view, side, row) });
  head.append(symbol, element("span", "of", of), element("span", "what", quantity.title));
  const cells = element("div", quantity.columns === "key" ? "cells of-keys" : "cells");
  const columns = columnsOf(quantity, row);
  if (columns.length < quantity.width) {
    const told = { n: columns.length, all: thousands(quantity.width) };
    head.append(element("span", "what", say("largest {n} of {all}", told)));
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
    .sort((one, other) => size(other) - size(one))
    .slice(0, LARGEST)
    .sort((one, other) => one - other);
}

function pressNumber(view, event) {
  const { target, key } = event;
  if (!target.matches(".number") || event.ctrlKey || event.metaKey || event.altKey) return;
  const numbers = [...view.lens.querySelectorAll(".number")];
  const at = numbers.indexOf(target);
  const above = () => {
    const { left, top } = target.getBoundingClientRect();
    const isUp = key === "ArrowUp";
    const isBeyond = (box) => (isUp ? box.top < top - 2 : box.top > top + 2);
    const near = (isUp ? numbers.slice(0, at).reverse() : numbers.slice(at)).filter((n) => isBeyond(n.getBoundingClientRect()));
    const line = near[0]?.getBoundingClientRect().top;
    const away = (number) => Math.abs(number.getBoundingClientRect().left - left);
    return near
      .filter((number) => Math.abs(number.getBoundingClientRect().top - line) < 3)
      .sort((one, other) => away(one) - away(other))[0];
  };
  const to = { ArrowLeft: () => numbers[at - 1], ArrowRight: () => numbers[at + 1], ArrowUp: above, ArrowDown: above }[key]?.();
  if (!to) return;
  event.preventDefault();
  to.focus({ preventScroll: true });
  to.scrollIntoView({ block: "nearest" });
}
