// What a cell of the stage says.

import { short } from "../../../../../headlight/components/kit/numbers.js";
import { say } from "../../../../../headlight/components/kit/say.js";

/** @typedef {{title: string, shape: string, rows: string, columns: string, size: number[], nHeads: number, ids?: number[] | null}} Panel */

const token = (labels, i) => `${i} “${labels[i]}”`;

/**
 * @param {Panel} panel
 * @param {Record<string, {labels: string[]}>} sides
 * @param {{head?: number | null, row: number, column: number}} at
 * @param {number} value
 */
export function wordsOf(panel, sides, { head = 0, row, column }, value) {
  const labels = sides[panel.rows].labels;
  if (panel.shape === "heads") {
    const place = { title: panel.title, head: head ?? 0, query: token(labels, row), key: token(sides[panel.columns].labels, column) };
    return value === -Infinity
      ? say("{title}, head {head}: query {query} → key {key}: masked", place)
      : say("{title}, head {head}: query {query} → key {key}: {value}", { ...place, value: short(value) });
  }
  const place = { title: panel.title, token: token(labels, row), value: short(value) };
  if (panel.shape === "head vectors") {
    const width = panel.size[1] / panel.nHeads;
    const of = { ...place, head: Math.floor(column / width), dimension: column % width };
    return say("{title}, token {token}, head {head}, dimension {dimension}: {value}", of);
  }
  return say("{title}, token {token}, dimension {dimension}: {value}", { ...place, dimension: panel.ids?.[column] ?? column });
}

/**
 * The query, the key and the weight of a pattern's cell, each on a line.
 *
 * @param {Panel} panel
 * @param {Record<string, {labels: string[]}>} sides
 * @param {{head?: number | null, row: number, column: number}} at
 * @param {number} value
 */
export function weightInWords(panel, sides, { head = 0, row, column }, value) {
  const named = { head: head ?? 0 };
  return [
    say("from query {token}", { token: token(sides[panel.rows].labels, row) }),
    say("to key {token}", { token: token(sides[panel.columns].labels, column) }),
    value === -Infinity ? say("Head {head}: masked", named) : say("Head {head}: weight {weight}", { ...named, weight: short(value) }),
  ];
}
