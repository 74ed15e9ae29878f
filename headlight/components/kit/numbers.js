// Numbers as people read them.

import { LANGUAGE } from "./language.js";

// Separators as in Python's texts (headlight/language.py): a thin space between thousands in other languages.
/** @type {Partial<Record<Intl.NumberFormatPartTypes, string>>} */
const SIGNS = {
  decimal: LANGUAGE === "en" ? "." : ",",
  group: LANGUAGE === "en" ? "," : "\u202f",
  minusSign: "−",
  exponentMinusSign: "−",
  exponentSeparator: "e",
};
// Ties go to the even digit, as in Python, which writes the same numbers beside these; nothing is "−0.00".
/** @type {Intl.NumberFormatOptions} */
const USUAL = { roundingMode: "halfEven", signDisplay: "negative" };
/** @type {Map<string, Intl.NumberFormat>} */
const formats = new Map(); // each takes long to make

/**
 * @param {number} value
 * @param {Intl.NumberFormatOptions} options
 */
function written(value, options) {
  const key = JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.NumberFormat(LANGUAGE, { ...USUAL, ...options });
  formats.set(key, format);
  return format.formatToParts(value).map((part) => SIGNS[part.type] ?? part.value).join("");
}

/** @param {number} n - of decimals */
const decimals = (n) => ({ minimumFractionDigits: n, maximumFractionDigits: n });

/**
 * With this many decimals.
 *
 * @param {number} value
 * @param {number} n
 */
export const fixed = (value, n) => written(value, { ...decimals(n), useGrouping: false });

/**
 * In powers of ten, with this many decimals: 1.5e−7.
 *
 * @param {number} value
 * @param {number} n
 */
export const scientific = (value, n) => written(value, { ...decimals(n), notation: "scientific" });

/**
 * With so many digits that count.
 *
 * @param {number} value
 * @param {number} n
 */
export const significant = (value, n) =>
  written(value, { minimumSignificantDigits: n, maximumSignificantDigits: n, useGrouping: false });

/**
 * With thousands set apart, and this many decimals.
 *
 * @param {number} value
 * @param {number} [n]
 */
export const thousands = (value, n = 0) => written(value, decimals(n));

/**
 * With two decimals; none looks like 0 that is not, and none like 1.
 *
 * @param {number} value
 */
export function probability(value) {
  const text = fixed(value, 2);
  if (text === fixed(0, 2) && value > 0) return `<${fixed(0.01, 2)}`;
  return text === fixed(1, 2) && value < 1 ? `>${fixed(0.99, 2)}` : text;
}

/**
 * With two digits that count, and two decimals at least: 0.012, 0.25, 3.14, 250.
 *
 * @param {number} value
 */
export function short(value) {
  const size = Math.abs(value);
  if (size >= 100) return fixed(value, 0);
  if (size >= 0.1 || size === 0) return fixed(value, 2);
  return size < 1e-6 ? scientific(value, 1) : significant(value, 2);
}

/**
 * The smallest of 1, 2, 5, 10, 20, 50 ... that is at least so large.
 *
 * @param {number} least
 */
export function roundStep(least) {
  let step = 1;
  for (let i = 1; step < least; i += 1) step = [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3);
  return step;
}
