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
