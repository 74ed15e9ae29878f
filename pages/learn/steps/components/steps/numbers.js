// What the steps are made of: every quantity of one head on one text with its numbers, and each number in words.
//
// data: as mounting.py packs it; after the header the numbers of each quantity (float32, little endian), row by row.
// What belongs to one query and all keys (weighted values, the products of q and k) is made here, in single precision.

import { fixed, scientific } from "../../../../../headlight/components/kit/numbers.js";
import { unpack } from "../../../../../headlight/components/kit/packing.js";
import { say } from "../../../../../headlight/components/kit/say.js";

export const PRODUCT = "elementwise"; // q and k, number by number: rows are keys
export const WEIGHTED = "weighted"; // each value times its weight: rows are keys

export function readSteps(data) {
  const { header, rest } = unpack(data);
  const numbers = new Float32Array(rest.slice().buffer);
  let start = 0;
  const quantities = new Map();
  for (const matrix of header.quantities) {
    const [n, width] = matrix.shape;
    quantities.set(matrix.name, { ...matrix, n, width, values: numbers.subarray(start, (start += n * width)) });
  }
  for (const quantity of quantities.values()) quantity.most = largest(quantity.values);
  return { header, quantities };
}

function largest(values) {
  let most = 0;
  for (const value of values) if (Math.abs(value) > most && Number.isFinite(value)) most = Math.abs(value);
  return most || 1;
}

export function makeOfQuery({ quantities, query, header }) {
  // Fills in what belongs to the chosen query alone, and to each key.
  const [q, pattern] = [quantities.get("q"), quantities.get("pattern")];
  const make = (name, other, factor) => {
    const { n, width, values: given, most } = quantities.get(other);
    const values = given.map((value, i) => value * factor(Math.floor(i / width), i % width));
    const of = { ...header.pairs[name], name, n, width, values, rows: "key", columns: "d_head" };
    quantities.set(name, { ...of, most: name === WEIGHTED ? most : largest(values) });
  };
  make(PRODUCT, "k", (_, column) => valueAt(q, query, column));
  make(WEIGHTED, "v", (key) => valueAt(pattern, query, key));
}

const isOfPairs = (name) => name === PRODUCT || name === WEIGHTED;

/** A number {name, row, column} of what is shown, as [name, row, column] of the whole text. */
export function wholeCell({ header: { first, nKeys }, query, quantities }, { name, row, column }) {
  // What belongs to a query and a key has a row for each pair of them.
  const { rows, columns } = quantities.get(name);
  const place = row + (first[rows] ?? 0);
  const inPairs = isOfPairs(name) ? (query + first.query) * nKeys + place : place;
  return [name, inPairs, column + (columns === "key" ? first.key : 0)];
}

/** The other way round; null: it is of another query. */
export function shownCell({ header: { first, nKeys }, query, quantities }, [name, row, column]) {
  if (isOfPairs(name)) {
    return Math.floor(row / nKeys) === query + first.query ? { name, row: (row % nKeys) - first.key, column } : null;
  }
  const { rows, columns } = quantities.get(name) ?? {};
  return { name, row: row - (first[rows] ?? 0), column: column - (columns === "key" ? first.key : 0) };
}

export function valueAt(quantity, row, column) {
  return quantity.values[row * quantity.width + column];
}

export function writeNumber(value, decimals = 4) {
  const size = Math.abs(value);
  if (size && size <= 0.5 * 10 ** -decimals) return scientific(value, 2);
  return fixed(value, size < 1000 ? decimals : decimals > 2 ? 1 : 0);
}

export function tokenOf({ header }, side, index) {
  return say("{place} “{token}”", { place: header.first[side] + index, token: header[side][index] });
}

export function wordsOf(view, quantity, row, column) {
  // "q, query 3 “it”, dimension 12: 0.4213"
  const value = valueAt(quantity, row, column);
  const isMask = quantity.name === "mask";
  const number = isMask ? (value ? say("may be attended to") : say("masked")) : writeNumber(value);
  const parts = [quantity.symbol];
  if (quantity.rows === "query") parts.push(say("query {token}", { token: tokenOf(view, "query", row) }));
  if (quantity.name === PRODUCT) parts.push(say("query {token}", { token: tokenOf(view, "query", view.query) }));
  if (quantity.rows === "key") parts.push(say("key {token}", { token: tokenOf(view, "key", row) }));
  if (quantity.columns === "key") parts.push(say("key {token}", { token: tokenOf(view, "key", column) }));
  else if (quantity.columns === "head d_head") {
    const { dHead } = view.header;
    const place = { head: Math.floor(column / dHead), dimension: column % dHead };
    parts.push(say("head {head}, dimension {dimension}", place));
  } else parts.push(say("dimension {dimension}", { dimension: column }));
  return `${parts.join(", ")}: ${number}`;
}

export function wordsOfMark(view, { name, row, column }) {
  return wordsOf(view, view.quantities.get(name), row, column);
}
