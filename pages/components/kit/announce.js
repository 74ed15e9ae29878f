// What a choice changed, for those who hear the page: one live region, below the page, for all components.

import { element } from "./elements.js";

const HIDDEN = "position:fixed;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap";
/** @type {HTMLElement | undefined} */
let region;

export function announce(words) {
  if (!region?.isConnected) {
    region = element("div", "hl-announced");
    Object.assign(region, { role: "status" });
    region.style.cssText = HIDDEN;
    document.body.append(region);
  }
  if (region.textContent !== words) region.textContent = words;
}
