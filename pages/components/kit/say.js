// A text in the reader's language, which WORDS holds by its English words.

import { WORDS } from "./language.js";

export const say = (text, values = {}) => (WORDS[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
