// Shared by the components: a text in the reader's LANGUAGE, which WORDS holds by its English words; a large number.

import { LANGUAGE, WORDS } from "./language.js";

export const say = (text, values = {}) => (WORDS[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

export const thousands = (n, form) => n.toLocaleString("en", form).replaceAll(",", LANGUAGE === "en" ? "," : "\u202f");
