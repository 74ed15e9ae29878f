// Texts in the reader's language, which language.js holds by their English words.

import { FORMS, LANGUAGE, WORDS } from "./language.js";
import { thousands } from "./numbers.js";

/** @typedef {Record<string, string | number>} Values - the values of a text, by their names in braces */

const PLURALS = new Intl.PluralRules(LANGUAGE);

/**
 * @param {string} text
 * @param {Values} values
 */
const putIn = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));

/**
 * @param {string} text
 * @param {Values} [values]
 */
export const say = (text, values = {}) => putIn(WORDS[text] ?? text, values);

/**
 * The text for a number of things: `one`, or `many`, with {n} for the number.
 *
 * @param {number} n
 * @param {string} one
 * @param {string} many
 * @param {Values} [values]
 */
export const sayNumber = (n, one, many, values = {}) =>
  putIn((FORMS[one] ?? { one })[PLURALS.select(n)] ?? many, { n: thousands(n), ...values });
