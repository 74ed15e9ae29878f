// Sliders for how the next token is chosen: each with a field for its number, and a button that sets it back.

import { element } from "../../../headlight/components/kit/elements.js";
import { say } from "../../../headlight/components/kit/say.js";

const N_STOPS = 160; // of the slider of top-k, which is logarithmic
const MOST = 999_999; // top-k that can be typed: as the server takes it
const hundredths = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => (first + i) / 100);
export const SLIDERS = [
  {
    name: "temperature",
    title: say("Temperature"),
    help: say("Divides the logits: below 1, probable tokens become more probable. 0 always chooses the most probable token (greedy decoding)."),
    usual: 1,
    stops: () => hundredths(0, 200),
  },
  {
    name: "top_k",
    title: "Top-k",
    help: say("Keeps the k most probable tokens."),
    usual: 0,
    off: 0,
    stops: (nTokens) => {
      const numbers = Array.from({ length: N_STOPS }, (_, i) => Math.round(nTokens ** (i / N_STOPS)));
      return [...new Set(numbers), 0]; // where all of them stay it is off
    },
  },
  {
    name: "top_p",
    title: "Top-p",
    help: say("Keeps the fewest most probable tokens whose total probability reaches p (nucleus sampling)."),
    usual: 1,
    stops: () => hundredths(1, 100),
  },
  {
    name: "min_p",
    title: "Min-p",
    help: say("Drops tokens less probable than this fraction of the most probable one."),
    usual: 0,
    stops: () => hundredths(0, 100),
  },
];

export function makeSliders({ onMove, onRest, kinds = SLIDERS }) {
  // onMove(name, value): a slider or its field says another value; onRest(): it was let go; kinds: of `SLIDERS`.
  const sliders = { box: element("div", "sliders"), parts: {}, nTokens: 0 };
  sliders.box.setAttribute("role", "group");
  sliders.box.setAttribute("aria-label", say("Sampling settings"));
  for (const kind of kinds) sliders.parts[kind.name] = makeSlider(sliders, kind, onMove, onRest);
  sliders.box.addEventListener("keydown", (event) => event.stopPropagation()); // the page has its own keys
  return sliders;
}

function makeSlider({ box }, kind, onMove, onRest) {
  const { name, title, help, usual } = kind;
  /** @type {any} */
  const part = { kind, stops: [] };
  const place = element("div", "slider");
  const label = element("span", "title", title);
  Object.assign(label, { title: help });
  part.field = element("input", "field");
  Object.assign(part.field, { type: "number", placeholder: say("off") });
  part.field.setAttribute("aria-label", say("{title}, as a number", { title }));
  part.back = element("button", "back", "↺");
  const value = inNumber(kind, usual) || say("off");
  Object.assign(part.back, { type: "button", title: say("Reset to {value}", { value }) });
  part.back.setAttribute("aria-label", say("Reset {title} to {value}", { title, value }));
  part.range = element("input", "range");
  Object.assign(part.range, { type: "range", min: 0, step: 1 });
  part.range.setAttribute("aria-label", title);
  part.range.setAttribute("aria-description", help);
  place.append(label, part.field, part.back, part.range);
  box.append(place);
  part.range.addEventListener("input", () => onMove(name, part.stops[Number(part.range.value)]));
  part.field.addEventListener("input", () => {
    const value = readNumber(part);
    if (value !== null) onMove(name, value, part.field);
  });
  part.field.addEventListener("change", () => onMove(name, readNumber(part) ?? part.value));
  for (const end of ["change", "blur", "pointerup"]) {
    for (const it of [part.range, part.field]) it.addEventListener(end, onRest);
  }
  part.back.addEventListener("click", () => {
    part.range.focus({ focusVisible: false }); // the button goes
    onMove(name, usual);
    onRest();
  });
  return part;
}

export function showSliders(sliders, sampling, nTokens, except = null) {
  // Shows these values; a field that is being typed into is left alone.
  for (const part of Object.values(sliders.parts)) {
    const { kind, range, field, back } = part;
    if (sliders.nTokens !== nTokens) fillStops(part, nTokens);
    part.value = sampling[kind.name];
    const size = sizeOf(kind, part.value);
    range.value = Math.max(
      part.stops.findLastIndex((stop) => sizeOf(kind, stop) <= size),
      0,
    );
    range.setAttribute("aria-valuetext", inNumber(kind, part.value) || say("off"));
    if (field !== except) field.value = inNumber(kind, part.value);
    back.classList.toggle("away", part.value === kind.usual);
  }
  sliders.nTokens = nTokens;
}

function fillStops(part, nTokens) {
  const { kind, range, field } = part;
  part.stops = kind.stops(nTokens);
  range.max = part.stops.length - 1;
  const numbers = part.stops.filter((stop) => stop !== kind.off);
  Object.assign(field, { min: numbers[0], step: kind.off === undefined ? 0.01 : 1 });
  if (kind.off === undefined) field.max = numbers.at(-1);
}

function readNumber(part) {
  // What is typed, or null where it is not a value.
  const { kind, field } = part;
  if (field.value === "" && !field.validity.badInput && kind.off !== undefined) return kind.off;
  const value = Number(field.value);
  if (field.value === "" || !Number.isFinite(value)) return null;
  if (kind.off !== undefined) return value >= 0 && value <= MOST && Number.isInteger(value) ? value : null;
  return value >= Number(field.min) && value <= Number(field.max) ? value : null;
}

function sizeOf(kind, value) {
  return value === kind.off ? Infinity : value;
}

function inNumber(kind, value) {
  return value === kind.off ? "" : String(value);
}
