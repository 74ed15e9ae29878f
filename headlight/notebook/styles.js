// The style sheets of a view by file name, as text; bundle.py writes them.

/** @type {Record<string, string>} */
export const STYLES = {};
