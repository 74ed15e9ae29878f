// Light or dark, as what is around the view: a notebook in Jupyter, VS Code or Colab, or a page.

/**
 * @param {HTMLElement} place
 * @returns {"light" | "dark"}
 */
export function appearanceAround(place) {
  const channels = backgroundOf(place).match(/[\d.]+/g)?.map(Number) ?? [255, 255, 255];
  return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2] < 128 ? "dark" : "light";
}

/**
 * Calls back when what is around changes between light and dark.
 *
 * @param {HTMLElement} place
 * @param {(name: "light" | "dark") => void} onChange
 * @param {AbortSignal} signal - it ends the watching
 */
export function watchAppearance(place, onChange, signal) {
  let last = appearanceAround(place);
  const look = () => {
    const name = appearanceAround(place);
    if (name !== last) onChange((last = name));
  };
  const observer = new MutationObserver(look);
  for (const node of [document.documentElement, document.body]) observer.observe(node, { attributes: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", look, { signal });
  signal.addEventListener("abort", () => observer.disconnect());
  return last;
}

/** @param {HTMLElement} place */
function backgroundOf(place) {
  // The nearest background that is opaque; else, as outputs are transparent there, that of Colab's dark theme, or of VS
  // Code; else the browser's own.
  for (let node = place.parentElement; node; node = node.parentElement) {
    const color = getComputedStyle(node).backgroundColor;
    if (/^rgb\(/.test(color)) return color;
  }
  if (document.documentElement.matches("[theme=dark]")) return "rgb(0, 0, 0)";
  const probe = document.createElement("span");
  probe.style.backgroundColor = "var(--vscode-editor-background, Canvas)";
  document.body.append(probe); // in `place` it would have no style: the children of a shadow host are not drawn
  const color = getComputedStyle(probe).backgroundColor;
  probe.remove();
  return color;
}
