// The reader's language, and what it says by the English words; modules.py writes that of every other language.

export const LANGUAGE = "en";
/** @type {Record<string, string>} */
export const WORDS = {};
/** @type {Record<string, Partial<Record<Intl.LDMLPluralRule, string>>>} by the words for one thing */
export const FORMS = {};
