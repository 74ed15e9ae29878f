// What is shown of the one token that is pointed at, has the focus, or is kept: its weights beside the other side's
// tokens, and in words its strongest.

import { fixed, thousands } from "../kit/numbers.js";
import { element } from "../kit/elements.js";
import { say } from "../kit/say.js";
import { FORBIDDEN, LEAST, MOST_CURVES, TOP } from "./curves.js";

const N_NAMED = 3; // tokens that are named as the strongest of one head
const BAR = 30; // %, the opacity of the bars in the background of tokens
const HINT = say("Point at a token to isolate its lines; click to keep, Escape to clear.");
export const SIDES = ["query", "key"];
const OTHER = { query: "key", key: "query" };
const ARROWS = { query: "→", key: "←" };

/** The token that stays chosen after a click, or null. */
export function kept({ pinned }) {
  const side = SIDES.find((side) => pinned[side] !== null);
  return side ? { side, index: pinned[side] } : null;
}

/** The token whose lines are shown alone, or null. */
export function active(view) {
  return view.pointed ?? kept(view);
}

export function nameOf({ header }, side, index) {
  const named = { place: header.first[side] + index, label: header[side][index] };
  return side === "query" ? say("query {place} '{label}'", named) : say("key {place} '{label}'", named);
}

function weightsOf({ header, weights, nQueries, nKeys }, side, index, head) {
  // From or to one token, all of the other side, as curves.js has them.
  const start = head * nQueries * nKeys;
  if (side === "query") return weights.subarray(start + index * nKeys, start + (index + 1) * nKeys);
  return Uint16Array.from(header.query, (_, query) => weights[start + query * nKeys + index]);
}

export function findStrongest({ header, weights, nQueries, nKeys }) {
  // The largest weights that are drawn, of each side by head and by token.
  const n = header.names.length > 1 ? 1 : N_NAMED;
  const least = LEAST * TOP;
  const lists = (size) => header.names.map(() => Array.from({ length: size }, () => []));
  const notes = { query: lists(nQueries), key: lists(nKeys) };
  const note = (list, weight, other) => {
    if (list.length === n && list[n - 1].weight >= weight) return;
    const place = list.findIndex((it) => it.weight < weight);
    list.splice(place < 0 ? list.length : place, 0, { weight, other });
    list.length = Math.min(list.length, n);
  };
  header.names.forEach((_, head) => {
    let place = head * nQueries * nKeys;
    for (let query = 0; query < nQueries; query++) {
      for (let key = 0; key < nKeys; key++, place++) {
        const weight = weights[place];
        if (weight < least || weight === FORBIDDEN) continue;
        note(notes.query[head][query], weight, key);
        note(notes.key[head][key], weight, query);
      }
    }
  });
  return notes;
}

export function strongest(view, side, index, head) {
  const words = ({ weight, other }) => `${nameOf(view, OTHER[side], other)} ${inDigits(weight)}`;
  return view.strongest[side][head][index].map(words).join(", ") || say("nothing");
}

function inDigits(weight) {
  return fixed(weight / TOP, 2);
}

export function show(view) {
  // Everything but the curves, which paintOnly draws.
  const { root, header, tokens } = view;
  const place = active(view);
  root.classList.toggle("lit", Boolean(place));
  for (const side of SIDES) {
    const isOther = place?.side === OTHER[side];
    const weights = isOther && header.names.map((_, head) => weightsOf(view, place.side, place.index, head));
    tokens[side].forEach((token, index) => {
      token.button.classList.toggle("lit", place?.side === side && place.index === index);
      showWeights(view, token, weights ? weights.map((ofHead) => ofHead[index]) : null);
    });
  }
  explain(view, place);
}

function showWeights({ header, nWritten }, token, weights) {
  const { button, numbers } = token;
  const isForbidden = Boolean(weights?.every((weight) => weight === FORBIDDEN));
  const isSeen = Boolean(weights?.some((weight) => weight !== FORBIDDEN && weight >= LEAST * TOP));
  button.classList.toggle("forbidden", isForbidden);
  if (!isSeen && !token.isSeen) return;
  token.isSeen = isSeen;
  button.style.backgroundImage = button.style.backgroundSize = button.style.backgroundPosition = "";
  numbers.replaceChildren();
  if (!isSeen) return;
  const shares = weights.map((weight) => (weight === FORBIDDEN ? 0 : weight / TOP));
  const n = shares.length;
  const start = button.dataset.side === "key" ? 0 : 100; // %: bars grow away from the curves
  const height = (head) => (100 * head) / Math.max(n - 1, 1);
  button.style.backgroundImage = header.hues
    .map((hue) => `color-mix(in srgb, ${hue} ${BAR}%, transparent)`)
    .map((color) => `linear-gradient(${color}, ${color})`)
    .join();
  button.style.backgroundSize = shares.map((share) => `${100 * share}% ${100 / n}%`).join();
  button.style.backgroundPosition = shares.map((_, head) => `${start}% ${height(head)}%`).join();
  const written = n <= nWritten ? shares.keys() : [shares.indexOf(Math.max(...shares))];
  numbers.append(...Array.from(written, (head) => number(weights[head], header.hues[head], n > 1)));
}

function number(weight, hue, isColored) {
  const isSmall = weight === FORBIDDEN || weight < LEAST * TOP;
  const node = element("span", "number", isSmall ? "" : inDigits(weight));
  if (isColored) node.style.setProperty("--hue", hue);
  return node;
}

export function explain(view, place) {
  const { says, header } = view;
  if (!place) {
    const less = view.isWhole ? "" : say("Showing the {n} strongest lines. ", { n: thousands(MOST_CURVES) });
    says.replaceChildren(element("span", "hint", less + HINT));
    return;
  }
  const { side, index } = place;
  const parts = [element("strong", "", `${nameOf(view, side, index)} ${ARROWS[side]}`)];
  header.names.forEach((_, head) => {
    const part = element("span", "said");
    if (header.names.length > 1) part.append(swatch(header.hues[head]));
    part.append(strongest(view, side, index, head));
    parts.push(part);
  });
  says.replaceChildren(...parts);
}

export function swatch(hue) {
  const node = element("i", "swatch");
  node.style.background = hue;
  return node;
}
