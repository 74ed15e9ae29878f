// What a choice changed, for those who hear the page: one live region, below the page, for all components.

import { element } from "./elements.js";

const HIDDEN = "position:fixed;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap";
/** @type {HTMLElement | undefined} */
let known;

/** @param {string} words */
export function announce(words) {
  const region = known?.isConnected ? known : makeRegion();
  known = region;
  if (region.textContent !== words) region.textContent = words;
}

function makeRegion() {
  const region = element("div", "hl-announced");
  region.role = "status";
  region.style.cssText = HIDDEN;
  document.body.append(region);
  return region;
}
