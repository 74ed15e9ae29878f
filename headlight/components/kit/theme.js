// Shared by the components: which theme is on the screen, and when it changes.

/**
 * @param {HTMLElement} parent
 * @param {(theme: "dark" | "light") => void} onChange
 */
export function watchTheme(parent, onChange) {
  // A probe takes Streamlit's background color; its transition reports every change.
  const probe = document.createElement("span");
  probe.setAttribute("aria-hidden", "true");
  probe.style.cssText =
    "position:absolute;width:0;height:0;background-color:var(--st-background-color);transition:background-color 1ms";
  parent.append(probe);
  /** @returns {"dark" | "light"} */
  const name = () => {
    const [red, green, blue] = (getComputedStyle(probe).backgroundColor.match(/[\d.]+/g) ?? [255, 255, 255]).map(Number);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128 ? "dark" : "light";
  };
  let last = name();
  probe.addEventListener("transitionend", () => {
    if (name() === last) return;
    last = name();
    onChange(last);
  });
  return name;
}

/**
 * The size of a text that is drawn on a canvas or in a figure, which the presenter layout makes larger if it is small.
 *
 * @param {Element} root - of the component
 * @param {number} px
 */
export function legible(root, px) {
  return Math.max(px, leastText(root));
}

/**
 * The least size of text on the page, in px; 0: any. Style sheets are served with it.
 *
 * @param {Element} root - of the component
 */
export function leastText(root) {
  return parseFloat(getComputedStyle(root).getPropertyValue("--hl-least-text")) || 0;
}
