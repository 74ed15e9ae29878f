// The step that is shown: its last token is outlined, the caret stands after it, and both are scrolled into sight.

import { draw, look } from "./looking.js";

const SOON = 150; // ms
const OUTLINE = 5; // px, that belong to a chip below it

export function setPlace(view, n) {
  // Outlines the last token of a step, and puts the caret after it; at once, whatever the page still shows.
  const { header, items, caret, parts } = view;
  const last = header.nGiven + n - 1;
  items.output.forEach(({ chip }, index) => {
    if (chip.classList.contains("faint") !== index > last) chip.classList.toggle("faint", index > last);
    if (chip.hasAttribute("aria-current") === (index === last)) return;
    if (index === last) chip.setAttribute("aria-current", "true");
    else chip.removeAttribute("aria-current");
  });
  const { chip } = items.output[last];
  caret.hidden = n === view.nWritten && header.ended !== null;
  const isFocused = parts.output.list.contains(view.root.getRootNode().activeElement);
  if (isFocused && view.place !== n) chip.focus({ preventScroll: true });
  else view.roving.output.rest(chip);
  clearTimeout(view.paling);
  const pale = () => view.root.classList.toggle("waiting", !view.weightsOf.has(view.place));
  const weights = view.weightsOf.get(n) ?? view.weights;
  if (view.weights !== weights) {
    view.weights = weights;
    look(view);
  }
  if (n === header.at || view.weightsOf.has(n)) view.root.classList.remove("waiting");
  else view.paling = setTimeout(pale, SOON); // so that nothing flickers where the page answers soon
  if (view.place !== n || view.weighed !== view.weights) {
    reveal(parts.output.pane, chip);
    const [strongest] = view.strongest.source;
    if (strongest !== undefined) reveal(parts.source.pane, items.source[strongest].chip);
  }
  Object.assign(view, { place: n, weighed: view.weights });
  draw(view);
}

function reveal(pane, chip) {
  // Scrolls the pane, never the page.
  const top = chip.offsetTop;
  const bottom = top + chip.offsetHeight + OUTLINE;
  if (bottom > pane.scrollTop + pane.clientHeight) pane.scrollTop = bottom - pane.clientHeight;
  if (top < pane.scrollTop) pane.scrollTop = top;
}
