// Tokens as chips, updated where they are when another step, branch or text comes; and the text about one of them.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { fixed, short, significant } from "../../../../../headlight/components/kit/numbers.js";
import { say } from "../../../../../headlight/components/kit/say.js";

export const SIDES = ["source", "output"];
const N_FACTS = 5; // numbers of a token, before its alternatives: label, kind, log-probability, rank, entropy
const NAMES = {
  given: say("given, not generated"),
  written: "",
  forced: say("forced: chosen by hand"),
};

function makeItem(side, index) {
  const isOutput = side === "output";
  const chip = element(isOutput ? "button" : "div", "chip");
  if (isOutput) chip.type = "button";
  else chip.setAttribute("role", "listitem");
  chip.tabIndex = -1;
  Object.assign(chip.dataset, { side, index });
  const word = element("bdi", "word");
  chip.append(word, " "); // after it a number may come
  return { chip, word, number: element("span", "number"), weight: 0, height: 0, label: "", name: "", facts: [] };
}

export const placeOf = ({ dataset: { side, index } }) => ({ side, index: Number(index) });

export function fillSource(view) {
  const { header, items, parts } = view;
  items.source = header.source.map((label, index) => {
    const item = makeItem("source", index);
    item.word.textContent = label;
    item.chip.classList.add("given");
    item.name = say("source {index} '{label}'", { index, label });
    nameChip(item);
    return item;
  });
  parts.source.list.replaceChildren(...items.source.map(({ chip }) => chip));
  parts.source.pane.scrollTop = 0;
  view.roving.source.rest(items.source[0]?.chip);
}

export function fillOutput(view) {
  const { header, items, parts } = view;
  const { output } = items;
  for (const { chip } of output.splice(header.nOutput)) chip.remove();
  const isNew = output.length; // the first place that has no chip yet
  while (output.length < header.nOutput) output.push(makeItem("output", output.length));
  output.forEach((item, index) => fillToken(view, item, index));
  parts.output.list.append(...output.slice(isNew).map(({ chip }) => chip));
}

function fillToken(view, item, index) {
  const token = tokenAt(view, index);
  const { label, facts } = token;
  const isSame = item.token?.label === label && facts.every((fact, i) => i === 0 || Object.is(fact, item.token.facts[i]));
  item.token = token;
  item.chip.classList.toggle("fixed", index < view.header.nGiven - 1);
  if (isSame) return;
  item.word.textContent = label;
  for (const kind of view.header.kinds) item.chip.classList.toggle(kind, kind === token.kind);
  Object.assign(item, { name: say("output {index} '{label}'", { index, label }), facts: factsOf(token) });
  nameChip(item);
  color(view, item);
}

export function nameChip({ chip, name, weight, height, label, facts }) {
  // The weight comes after the label, as it is written over it.
  const attention = height ? [say("{weight} attention", { weight: label || inDigits(weight) })] : [];
  chip.setAttribute("aria-label", [name, ...attention, ...facts].join(", "));
}

function tokenAt({ header, numbers, width }, index) {
  const start = index * width;
  const facts = numbers.subarray(start, start + N_FACTS);
  const n = (width - N_FACTS) / 2;
  const others = numbers.subarray(start + N_FACTS, start + width);
  const [label, kind, logProb, rank, entropy] = facts;
  return { label: header.labels[label], kind: header.kinds[kind], facts, logProb, rank, entropy, others, n };
}

function alternativesOf({ header }, { others, n }) {
  const all = Array.from({ length: n }, (_, i) => ({ label: header.labels[others[i]], probability: others[n + i] }));
  return all.filter(({ label }) => label !== undefined);
}

function factsOf({ kind, logProb, rank, entropy }) {
  if (Number.isNaN(logProb)) return [NAMES[kind]].filter(Boolean);
  const place = rank === 0 ? say("most probable") : say("rank {rank} (0 is the most probable)", { rank });
  return [
    NAMES[kind],
    say("probability {p}, {place}", { p: inDigits(Math.exp(logProb)), place }),
    say("log-probability {nats}", { nats: inNats(logProb) }),
    say("entropy of the distribution {nats}", { nats: inNats(entropy) }),
  ].filter(Boolean);
}

export function colorAll(view) {
  view.shades = view.header.shades[view.theme()];
  for (const item of view.items.output) color(view, item);
  colorScale(view);
}

function color({ shades }, { chip, token }) {
  const isPlain = token.kind === "given" || Number.isNaN(token.logProb);
  const [ground, ink] = isPlain ? ["", ""] : shades[Math.round(Math.exp(token.logProb) * (shades.length - 1))];
  chip.style.setProperty("--ground", ground);
  chip.style.setProperty("--ink", ink);
}

export function colorScale({ scale, shades }) {
  const grounds = shades.map(([ground]) => ground);
  scale.querySelector(".gradient").style.background = `linear-gradient(to right, ${grounds.join()})`;
}

function isLookedAt(view, { side, index }) {
  return view.weights === view.weightsOf.get(view.place) && index < view.weights[side].length;
}

export function makeTip() {
  const tip = element("div", "tip");
  tip.popover = "manual"; // on top of all, wherever the page is scrolled to
  tip.setAttribute("aria-hidden", "true"); // the chips say the same
  return tip;
}

export function point(view, place) {
  // Says all that there is to say of one token; null: of none.
  const { tip, items } = view;
  const item = place && items[place.side][place.index];
  view.pointed = item ? place : null;
  if (!item) return tip.matches(":popover-open") && tip.hidePopover();
  const { token } = item;
  const label = token?.label ?? view.header.source[place.index];
  const named = { index: place.index, label };
  const name = token ? say("output {index} '{label}'", named) : say("source {index} '{label}'", named);
  tip.replaceChildren(element("strong", "", name));
  if (token) tip.append(...factsOf(token).map((words) => element("span", "", words)));
  if (isLookedAt(view, place)) tip.append(element("span", "weight", say("attention {weight}", { weight: inDigits(item.weight) })));
  if (token) addAlternatives(view, token);
  if (!tip.matches(":popover-open")) tip.showPopover();
  const box = item.chip.getBoundingClientRect();
  const below = box.bottom + 8;
  const isBelow = below + tip.offsetHeight < window.innerHeight || box.top < tip.offsetHeight + 8;
  tip.style.top = `${isBelow ? below : box.top - tip.offsetHeight - 8}px`;
  const left = box.left + box.width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${Math.min(Math.max(left, 8), window.innerWidth - tip.offsetWidth - 8)}px`;
}

function addAlternatives(view, token) {
  const alternatives = alternativesOf(view, token);
  if (!alternatives.length) return;
  const list = element("div", "alternatives");
  for (const { label, probability } of alternatives) {
    const bar = element("span", "share");
    bar.style.setProperty("--share", probability);
    const name = element("bdi", label === token.label ? "this" : "", label);
    list.append(name, bar, element("span", "probability", inDigits(probability)));
  }
  view.tip.append(list);
}

export function inDigits(value) {
  if (value > 0 && value < 0.0001) return say("below 0.0001");
  return short(value);
}

function inNats(value) {
  const size = Math.abs(value);
  return `${size >= 0.0001 && size < 0.005 ? significant(value, 1) : fixed(value, size < 0.0001 && size ? 4 : 2)} nats`;
}
