// Numbers as people read them.

import { LANGUAGE } from "./language.js";

/** With so many decimals and a true minus; nothing is "−0.00". */
export function fixed(value, decimals) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const text = Math.abs(value).toFixed(decimals);
  return (value < 0 && Number(text) ? "−" : "") + text;
}

/** In powers of ten: 1.5e−7. */
export const scientific = (value, decimals) => value.toExponential(decimals).replaceAll("-", "−");

export const thousands = (n, form) => n.toLocaleString("en", form).replaceAll(",", LANGUAGE === "en" ? "," : "\u202f");

/** With two digits that count, and two decimals at least: 0.012, 0.25, 3.14, 250. */
export function short(value) {
  const size = Math.abs(value);
  if (size >= 100) return fixed(value, 0);
  return size >= 0.1 || size === 0 ? fixed(value, 2) : value.toPrecision(2).replaceAll("-", "−");
}

const PLURALS = new Intl.PluralRules(LANGUAGE);

/** One of two texts: of one thing, or of another number of them. */
export const plural = (n, one, other) => (PLURALS.select(n) === "one" ? one : other);

export function roundStep(least) {
  // Returns the smallest of 1, 2, 5, 10, 20, 50 ... that is at least so large.
  let step = 1;
  for (let i = 1; step < least; i += 1) step = [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3);
  return step;
}
