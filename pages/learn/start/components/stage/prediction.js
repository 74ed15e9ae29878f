// What comes next: the most probable tokens as bars, under sliders for how one of them is chosen.

import { announce } from "../../../../../headlight/components/kit/announce.js";
import { element } from "../../../../../headlight/components/kit/elements.js";
import { fixed, probability } from "../../../../../headlight/components/kit/numbers.js";
import { inLine, rove } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { leave, shareOf } from "../../../../components/sampling/sampling.js";
import { makeSliders, showSliders, SLIDERS } from "../../../../components/sampling/sliders.js";

const N_BARS = 8;
const OF_STAGE = SLIDERS.filter(({ name }) => ["temperature", "top_k"].includes(name));

export function makePrediction(view) {
  const part = { box: element("aside", "prediction"), rows: [], list: element("div", "bars") };
  part.title = element("h3", "stack");
  part.reason = element("p", "reason");
  part.sliders = makeSliders({ onMove: (...moved) => move(view, ...moved), onRest: () => rest(view), kinds: OF_STAGE });
  part.decoding = makeDecoding(view);
  part.hint = element("p", "hint");
  part.facts = element("p", "facts");
  part.note = element("p", "ended");
  part.legend = element("p", "legend");
  part.legend.append(element("span", "own", say("model")), element("span", "now", say("with these settings")));
  part.settings = element("div", "settings");
  part.settings.append(part.sliders.box, part.decoding.box);
  part.box.append(part.title, part.reason, part.settings, part.list, part.hint, part.facts, part.legend, part.note);
  rove(part.list, {
    of: ".bar",
    next: (key, bar) => inLine(key, bar, [...part.list.children].filter((one) => !one.hidden), "down"),
    onChoose: (bar) => {
      const { token, label } = bar.candidate;
      view.send("token", { token, step: nGenerated(view) });
      announce(say("Chosen: {name}", { name: label }));
    },
  });
  return part;
}

function makeDecoding(view) {
  // Whether the next token is the most probable one, or drawn from the distribution.
  const box = element("div", "decoding");
  box.setAttribute("role", "radiogroup");
  box.setAttribute("aria-label", say("How the token is chosen"));
  const choices = [
    ["greedy", say("Greedy"), say("Greedy decoding: always the most probable token, at every temperature.")],
    ["sampling", say("Sampling"), say("Sampling: a token drawn from the distribution with these settings.")],
  ];
  const radios = choices.map(([value, title, help]) => {
    const label = element("label", "choice");
    const radio = element("input", "radio");
    Object.assign(radio, { type: "radio", name: "decoding", value });
    radio.setAttribute("aria-description", help);
    radio.addEventListener("change", () => {
      view.decoding = value;
      showPrediction(view);
      view.decoded.tell(value);
    });
    label.title = help;
    label.append(radio, title);
    box.append(label);
    return radio;
  });
  return { box, radios };
}

function move(view, name, value, typed = null) {
  view.settings.touch();
  view.typed = typed;
  view.sampling = { ...view.sampling, [name]: value };
  showPrediction(view);
}

function rest(view) {
  view.typed = null;
  if (view.settings.isTouched) view.settings.tell(view.sampling);
}

/** How many tokens were generated, or blanks filled, at the step that is shown. */
export const nGenerated = ({ header, at }) => (header.isFilling ? header.nFilled : at);

export function distributionAt(view) {
  const { distributions, isFilling } = view.header;
  return isFilling ? distributions[0] : distributions.find(({ nWritten }) => nWritten === view.at);
}

/** The token that comes next by the settings that are shown; null: only the server knows, and has not said. */
export function nextToken(view) {
  const distribution = distributionAt(view);
  if (!distribution) return null;
  const isGreedy = view.decoding === "greedy";
  if (view.decoding === view.header.decoding.value && (isGreedy || inWords(view.sampling) === view.held)) return distribution.next;
  if (!isGreedy && view.sampling.temperature !== 0) return null;
  const { first } = leave(distribution.scores, { ...view.sampling, temperature: 0 });
  return distribution.rows.find(({ place }) => place === first)?.token ?? null;
}

export const inWords = (sampling) => SLIDERS.map(({ name }) => sampling[name]).join(", ");

export function showPrediction(view) {
  const { prediction: part, header } = view;
  const distribution = distributionAt(view);
  part.box.hidden = header.level !== "overview";
  part.title.textContent = header.isFilling ? say("Most certain blank") : say("Next token");
  part.box.setAttribute("aria-label", header.isFilling ? say("Distribution over tokens for the blank") : say("Next-token distribution"));
  part.reason.textContent = header.opening.reason;
  part.hint.textContent = header.isFilling ? say("Select a token to fill the blank with it.") : say("Select a token to continue with it.");
  part.reason.classList.toggle("away", view.at !== header.opening.step);
  for (const radio of part.decoding.radios) radio.checked = radio.value === view.decoding;
  part.note.textContent = distribution ? "" : header.ended;
  part.note.hidden = Boolean(distribution) || !header.ended;
  for (const one of [part.reason, part.settings, part.list, part.hint, part.legend, part.facts]) one.hidden = !distribution;
  if (!distribution) return;
  const left = leave(distribution.scores, view.sampling);
  const next = nextToken(view);
  showSliders(part.sliders, view.sampling, distribution.scores.length, view.typed);
  const usual = distribution.rows.slice(0, N_BARS);
  const chosen = distribution.rows.find(({ token }) => token === next);
  const rows = !chosen || usual.includes(chosen) ? usual : [...usual.slice(0, -1), chosen];
  while (part.list.children.length < rows.length) part.list.append(makeBar());
  [...part.list.children].forEach((bar, i) => showBar(bar, rows[i], left, rows[i]?.token === next));
  const first = part.list.querySelector(".bar:not([hidden])");
  if (first && !part.list.querySelector('[tabindex="0"]:not([hidden])')) first.tabIndex = 0;
  const { temperature, top_k: topK, top_p: topP, min_p: minP } = view.sampling;
  part.legend.classList.toggle("away", temperature === 1 && topK === 0 && topP === 1 && minP === 0); // both are the same
  const n = left.end - left.first;
  const nNever = distribution.scores.length - 1 - distribution.scores.findLastIndex((score) => score > -Infinity);
  part.facts.textContent = say("{n} of {all} tokens kept; entropy {entropy} nats", {
    n,
    all: distribution.scores.length - nNever,
    entropy: fixed(left.entropy, 2),
  });
}

function makeBar() {
  const bar = element("button", "bar");
  Object.assign(bar, { type: "button", tabIndex: -1 });
  const track = element("span", "track");
  track.append(element("span", "filled"), element("span", "outline"));
  bar.append(element("bdi", "label"), track, element("span", "share"));
  return bar;
}

function showBar(bar, row, left, isNext) {
  bar.hidden = !row;
  if (!row) return;
  bar.candidate = row;
  const own = Math.exp(row.log_prob);
  const now = shareOf(left, row.place);
  bar.classList.toggle("next", isNext);
  bar.classList.toggle("out", now === 0);
  bar.dataset.token = row.token;
  bar.style.setProperty("--own", own);
  bar.style.setProperty("--now", now);
  const [label, , share] = bar.children;
  label.textContent = row.label;
  share.textContent = now === 0 ? "–" : probability(now);
  const values = { label: row.label, own: probability(own), now: now === 0 ? say("filtered out") : probability(now) };
  bar.title = say("“{label}”: model {own}, with these settings {now}. Click to choose it.", values);
  bar.setAttribute("aria-description", bar.title); // its name is what is written in it
}
