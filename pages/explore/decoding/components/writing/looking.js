// Where the model looks in order to say the next token: a bar over every token, numbers over the strongest, and curves
// from the caret to the strongest of the source.

import { svg } from "../../../../../headlight/components/kit/elements.js";
import { fixed } from "../../../../../headlight/components/kit/numbers.js";
import { nameChip, SIDES } from "./chips.js";

const N_STRONGEST = 5; // tokens of a side that are written on, and of the source that have a curve
const LEAST_STRONG = 0.05;
const LEAST_SEEN = 0.005; // weights that would be written as 0.00 have no bar

export function look(view) {
  view.strongest = {};
  for (const side of SIDES) {
    const weights = view.weights[side];
    view.strongest[side] = Array.from(weights.keys())
      .filter((index) => weights[index] >= LEAST_STRONG)
      .sort((one, other) => weights[other] - weights[one])
      .slice(0, N_STRONGEST);
    const strongest = new Set(view.strongest[side]);
    view.items[side].forEach((item, index) => showWeight(item, weights[index] ?? 0, strongest.has(index)));
  }
}

function showWeight(item, weight, isStrong) {
  item.weight = weight;
  const { chip, number } = item;
  const height = weight < LEAST_SEEN ? 0 : Math.round(200 * weight) / 200; // in steps of a fraction of a pixel
  const label = isStrong ? fixed(weight, 2) : "";
  if (height === item.height && label === item.label) return;
  Object.assign(item, { height, label });
  chip.style.setProperty("--weight", height);
  number.textContent = label;
  nameChip(item);
  if (isStrong) chip.append(number); // only few of many chips have one
  else number.remove();
}

export function draw(view) {
  // The caret after the last token of this step, and curves from it to what is in sight of the source.
  const { curves, caret, items, parts, header, place } = view;
  if (place === null || !curves.clientWidth) return;
  const { chip } = items.output[header.nGiven + place - 1];
  const [left, top] = [chip.offsetLeft + chip.offsetWidth, chip.offsetTop + chip.offsetHeight];
  caret.style.transform = `translate(${left}px, ${top}px) translateY(-100%)`;
  const origin = curves.getBoundingClientRect();
  const start = caret.getBoundingClientRect();
  const [sourcePane, outputPane] = SIDES.map((side) => parts[side].pane.getBoundingClientRect());
  const canStart = !caret.hidden && isWithin(start, outputPane);
  const ends = canStart ? view.strongest.source.map((index) => ({ index, box: items.source[index].word.getBoundingClientRect() })) : [];
  const seen = ends.filter(({ box }) => isWithin(box, sourcePane));
  while (curves.childElementCount < seen.length) {
    curves.append(svg("path"));
  }
  while (curves.childElementCount > seen.length) curves.lastElementChild.remove();
  seen.forEach(({ index, box }, i) => {
    const [x, y] = [start.left + start.width / 2 - origin.left, start.top - origin.top];
    const [endX, endY] = [box.left + box.width / 2 - origin.left, box.bottom + 1 - origin.top];
    const middle = (y + endY) / 2;
    const path = curves.children[i];
    path.setAttribute("d", `M${x} ${y}C${x} ${middle} ${endX} ${middle} ${endX} ${endY}`);
    path.style.strokeOpacity = 0.25 + 0.75 * items.source[index].weight;
    path.style.strokeWidth = 1 + 1.5 * items.source[index].weight;
  });
}

function isWithin(box, pane) {
  return box.bottom > pane.top + 1 && box.top < pane.bottom - 1 && box.bottom <= pane.bottom + 2;
}
