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
  part.box.setAttribute("aria-label", say("Next-token distribution"));
  part.title = element("h3", "stack", say("Next token"));
  part.sliders = makeSliders({ onMove: (...moved) => move(view, ...moved), onRest: () => rest(view), kinds: OF_STAGE });
  part.facts = element("p", "facts");
  part.note = element("p", "ended");
  part.legend = element("p", "legend");
  part.legend.append(element("span", "own", say("model")), element("span", "now", say("with these settings")));
  part.box.append(part.title, part.sliders.box, part.list, part.legend, part.facts, part.note);
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
  if (inWords(view.sampling) === view.held) return distribution.next;
  const { first } = leave(distribution.scores, view.sampling);
  return view.sampling.temperature === 0 ? (distribution.rows.find(({ place }) => place === first)?.token ?? null) : null;
}

export const inWords = (sampling) => SLIDERS.map(({ name }) => sampling[name]).join(", ");

export function showPrediction(view) {
  const { prediction: part, header } = view;
  const distribution = distributionAt(view);
  part.box.hidden = header.level !== "overview";
  part.note.textContent = distribution ? "" : header.ended;
  part.note.hidden = Boolean(distribution) || !header.ended;
  for (const one of [part.sliders.box, part.list, part.legend, part.facts]) one.hidden = !distribution;
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
  const n = left.end - left.first;
  part.facts.textContent = say("{n} of {all} tokens kept; entropy {entropy} nats", {
    n,
    all: distribution.scores.length,
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
