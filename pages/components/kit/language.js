// The reader's language, and what it says by the English words; modules.py writes that of every other language.

export const LANGUAGE = "en";
/** @type {Record<string, string>} */
export const WORDS = {};
