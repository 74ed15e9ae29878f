// How a component comes onto the page, and what it leaves behind there: nothing.

/**
 * @typedef {object} Given - what Streamlit hands over
 * @property {any} data
 * @property {HTMLElement} parentElement
 * @property {(name: string, value: unknown) => void} setTriggerValue
 */

/**
 * @template View
 * @typedef {HTMLElement & {view?: View, leaving?: AbortController}} Root - of a component
 */

/**
 * Makes the function that Streamlit calls whenever data comes for a component.
 *
 * @template View
 * @param {string} url - the component's module, `import.meta.url`; its root has its file's name as its class
 * @param {object} parts
 * @param {string[]} [parts.styles] - addresses of style sheets, from the module's own
 * @param {(root: HTMLElement) => View} parts.make - fills the empty root, once; what it returns is kept there
 * @param {(view: View, data: any, send: (name: string, value: unknown) => void) => void} parts.update - takes the data
 */
export async function mount(url, { styles = [], make, update }) {
  const name = url.replace(/^.*?(\w+)\.js$/, "$1");
  const forced = new URL("../../../headlight/components/kit/forced_colors.css", import.meta.url);
  const sheets = await Promise.all([forced, ...styles.map((style) => new URL(style, url))].map(load));
  /** @param {Given} given */
  return ({ data, parentElement, setTriggerValue }) => {
    /** @type {Root<View> | null} */
    const root = parentElement.querySelector(`.${name}`);
    if (!root?.isConnected) return undefined; // it left while its module was on the way
    adopt(root, sheets);
    root.view ??= make(root);
    update(root.view, data, setTriggerValue);
    fillPlace(root);
    return () => cleanUp(root);
  };
}

/**
 * A signal that aborts once the component has left the page, for listeners on the window and the document.
 *
 * @param {Root<unknown>} root
 */
export function leaving(root) {
  return (root.leaving ??= new AbortController()).signal;
}

/** @param {Root<unknown>} root */
function cleanUp(root) {
  // Streamlit calls this when the component has left, and also when newer data overtook what it was drawing.
  if (root.isConnected) return;
  root.leaving?.abort();
  delete root.leaving;
  root.replaceChildren(); // Streamlit may hold the nodes around it for longer
  delete root.view;
}

/**
 * A style sheet, for a shadow root.
 *
 * @param {URL} url
 */
export async function load(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} cannot be read: ${answer.status}`);
  return new CSSStyleSheet().replace(await answer.text());
}

/**
 * @param {HTMLElement} root
 * @param {CSSStyleSheet[]} sheets
 */
function adopt(root, sheets) {
  const place = /** @type {Document | ShadowRoot} */ (root.getRootNode());
  const missing = sheets.filter((sheet) => !place.adoptedStyleSheets.includes(sheet));
  place.adoptedStyleSheets.push(...missing);
}

/** @param {HTMLElement} root */
function fillPlace(root) {
  // What keeps a place free for the component on the page (waiting.css) hears that it is filled now.
  const shadow = root.getRootNode();
  const place = shadow instanceof ShadowRoot && shadow.host.closest('[data-testid="stElementContainer"]');
  if (place) place.setAttribute("data-drawn", "");
}
