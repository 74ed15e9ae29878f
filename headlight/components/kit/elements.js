// Elements of a page and of a drawing; what they say is text, never markup.

/**
 * @param {string} tag
 * @param {string} className
 * @param {string} [text]
 * @returns {any} an element
 */
export function element(tag, className, text) {
  const item = document.createElement(tag);
  item.className = className;
  if (text !== undefined) item.textContent = text;
  return item;
}

/** @typedef {Record<string, string | number>} Attributes */

/**
 * An element of a drawing (SVG); `class` is one of its attributes.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 */
export function svg(tag, attributes = {}) {
  return set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
}

/**
 * @template {Element} Node
 * @param {Node} node
 * @param {Attributes} attributes
 */
export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}
