// plotly.js: where it is, how it is loaded, and how figures are drawn with it.

/** @typedef {HTMLElement & {on: any}} Plot - an element that plotly.js has drawn into */

export const PLOTLY = "/vendor/plotly.min.js";
export const CONFIG = { displayModeBar: false, doubleClick: false, showTips: false };

export function loadPlotly() {
  // Where a page begins with figures, the server asks for it from the start; elsewhere the first figure does.
  return new Promise((resolve, reject) => {
    let script = /** @type {HTMLScriptElement} */ (document.querySelector(`script[src="${PLOTLY}"]`));
    if (!script) {
      script = document.createElement("script");
      script.src = PLOTLY;
      document.head.append(script);
    }
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => {
      script.remove(); // the next figure asks again: of this one it would hear nothing
      reject();
    });
  });
}
