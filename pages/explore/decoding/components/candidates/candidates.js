// The next-token distribution: the most probable tokens, each with its raw probability (an outline) and what the sliders
// make of that (a filled bar). Moving a slider draws again here; letting it go tells the server.
//
// data: as mounting.py packs it; after the header the scores of the whole vocabulary (float32, little endian), the
// highest first, for each of the header's distributions, one a step. A row of a distribution is a token at its place among
// them. The first one is what the server shows; a step in writing.js to another one of them is drawn at once.

import { fixed, probability, scientific, thousands } from "../../../../../headlight/components/kit/numbers.js";
import { announce } from "../../../../../headlight/components/kit/announce.js";
import { element } from "../../../../../headlight/components/kit/elements.js";
import { shownStep } from "../../../../../headlight/components/kit/channel.js";
import { leaving, mount } from "../../../../components/kit/mount.js";
import { unpack } from "../../../../../headlight/components/kit/packing.js";
import { inLine, rove } from "../../../../../headlight/components/kit/roving.js";
import { SharedValue } from "../../../../../headlight/components/kit/shared_value.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { leave, shareOf } from "../../../../components/sampling/sampling.js";
import { makeSliders, showSliders, SLIDERS } from "../../../../components/sampling/sliders.js";

const N_SHOWN = 12; // tokens, until more are requested
const HINT = say("Point at a token to see its values. Click it, or press Enter, to choose it.");
const FILTERED = say("filtered out");
const HEAD = [
  ["rank", say("rank"), say("By raw probability; 0 is the most probable")],
  ["word", say("token"), ""],
  ["own", say("raw"), say("Raw probability of the model (outline)")],
  ["now", say("final"), say("Probability after the sampling settings (filled bar)")],
];

export default await mount(import.meta.url, {
  styles: ["./candidates.css", "../../../../components/sampling/sliders.css"],
  make: makeView,
  update,
});

function update(view, data, send) {
  const { header, rest } = unpack(data);
  const scores = new Float32Array(rest.slice().buffer);
  const { nTokens } = header;
  const scoresOf = (i) => scores.subarray(i * nTokens, (i + 1) * nTokens);
  const distributions = header.distributions.map((distribution, i) => ({ ...distribution, scores: scoresOf(i) }));
  Object.assign(view, { distributions, send });
  view.held = inWords(header.sampling.value);
  if (view.settings.hear(header.sampling)) view.sampling = header.sampling.value;
  show(view, distributions[0]);
}

function show(view, distribution) {
  Object.assign(view, { header: distribution, scores: distribution.scores });
  view.root.setAttribute("aria-label", say("Next-token distribution {place}", { place: distribution.name }).trim());
  draw(view);
}

function makeView(root) {
  const view = { root, rows: [], nShown: N_SHOWN, sampling: null, held: null, typed: null };
  view.settings = new SharedValue((message) => view.send("sampling", message));
  root.setAttribute("role", "group");
  view.sliders = makeSliders({ onMove: (...moved) => move(view, ...moved), onRest: () => rest(view) });
  view.facts = element("p", "facts");
  view.head = element("div", "head");
  view.head.setAttribute("aria-hidden", "true"); // each row says it in words
  for (const [name, text, title] of HEAD) {
    const item = element("span", name, text);
    item.title = title;
    view.head.append(item);
  }
  view.list = element("div", "list");
  view.foot = element("div", "foot");
  view.says = element("div", "says", HINT);
  view.says.setAttribute("aria-hidden", "true");
  view.more = element("button", "more");
  view.more.type = "button";
  view.foot.append(view.says, view.more);
  root.append(view.sliders.box, view.facts, view.head, view.list, view.foot);
  listen(view);
  const onStep = (n) => {
    const distribution = view.distributions.find(({ nWritten }) => nWritten === n);
    if (distribution) show(view, distribution);
  };
  shownStep.listen(onStep, leaving(root));
  return view;
}

function listen(view) {
  const { list, more } = view;
  const rowOf = (button) => view.rows.find((row) => row.button === button);
  view.roving = rove(list, {
    of: ".row",
    next: (key, button) => {
      const seen = view.rows.map((row) => row.button).filter(({ hidden }) => !hidden);
      return inLine(key, button, seen, "down");
    },
    onPoint: (button) => {
      view.pointed = rowOf(button);
      explain(view);
    },
    onChoose: (button) => {
      const { said, words } = rowOf(button);
      view.send("token", { token: said.token, version: view.header.version });
      announce(say("Chosen: {name}", { name: words }));
    },
  });
  more.addEventListener("click", () => {
    view.nShown = view.nShown > N_SHOWN ? N_SHOWN : Infinity;
    draw(view);
    list.scrollTop = 0;
  });
}

function move(view, name, value, typed = null) {
  view.settings.touch();
  view.typed = typed; // the field that is being typed into
  view.sampling = { ...view.sampling, [name]: value };
  draw(view);
}

function rest(view) {
  view.typed = null;
  if (view.settings.isTouched) view.settings.tell(view.sampling);
}

function inWords(sampling) {
  return SLIDERS.map(({ name }) => sampling[name]).join(", ");
}

function draw(view) {
  const { header, scores, sampling, more } = view;
  view.left = leave(scores, sampling);
  view.next = nextOf(view);
  showSliders(view.sliders, sampling, scores.length, view.typed);
  showFacts(view);
  const ordinary = header.rows.slice(0, Math.min(view.nShown, header.n));
  const next = header.rows.find(({ token }) => token === view.next);
  const shown = !next || ordinary.includes(next) ? ordinary : [...ordinary, next];
  while (view.rows.length < shown.length) addRow(view);
  view.rows.forEach((row, index) => showRow(view, row, shown[index], shown[index] === next && index >= ordinary.length));
  if (!view.roving.stop || view.roving.stop.hidden) view.roving.rest(view.rows[0]?.button);
  more.hidden = header.n <= N_SHOWN;
  more.textContent = view.nShown > N_SHOWN ? say("Show fewer") : say("Show {n} more", { n: header.n - N_SHOWN });
  explain(view);
}

function nextOf({ header, sampling, held, left }) {
  // Which token the server would take is known where it has these settings, too; at temperature 0 it is the first.
  if (inWords(sampling) === held) return header.next;
  return sampling.temperature === 0 ? header.rows.find(({ place }) => place === left.first)?.token : null;
}

function showFacts({ facts, header, scores, left }) {
  const n = left.end - left.first;
  const [all, kept] = [scores.length, n].map((count) => thousands(count));
  const entropies = { own: fixed(header.entropy, 2), now: fixed(left.entropy, 2) };
  const entropy = say("Entropy: {own} nats raw, {now} with these settings.", entropies);
  const held = left.held < 1 ? say(", with {share} of the probability", { share: probability(left.held) }) : "";
  const some = { kept, all, held };
  const rests =
    n === scores.length ? say("All {all} tokens kept.", { all }) : say("{kept} of {all} tokens kept{held}.", some);
  facts.replaceChildren(element("span", "entropy", entropy), " ", element("span", "kept", rests));
}

function addRow(view) {
  const button = element("button", "row");
  Object.assign(button, { type: "button", tabIndex: -1 });
  const row = { button };
  for (const name of ["rank", "word", "track", "own", "now"]) button.append((row[name] = element("span", name)));
  row.label = element("bdi", "label");
  row.mark = element("span", "mark", say("next"));
  row.word.append(row.label, row.mark);
  row.track.append(element("span", "filled"), element("span", "outline"));
  view.rows.push(row);
  view.list.append(button);
}

function showRow(view, row, said, isApart) {
  const { button } = row;
  button.hidden = !said;
  if (!said) return;
  row.said = said;
  const { place, token } = said;
  const own = Math.exp(said.log_prob);
  const now = shareOf(view.left, place);
  const isLeft = place >= view.left.first && place < view.left.end;
  const isNext = token === view.next;
  const digits = { rank: thousands(said.rank), own: probability(own), now: isLeft ? probability(now) : "–" };
  for (const [name, text] of Object.entries(digits)) row[name].textContent = text;
  row.label.textContent = said.label;
  row.mark.hidden = !isNext;
  button.classList.toggle("out", !isLeft);
  button.classList.toggle("next", isNext);
  button.classList.toggle("apart", isApart);
  button.dataset.token = token;
  button.style.setProperty("--own", own);
  button.style.setProperty("--now", now);
  const values = { label: said.label, rank: digits.rank, p: exactly(own), nats: fixed(said.log_prob, 2) };
  row.words = [
    say("'{label}', rank {rank}: raw {p} ({nats} nats)", values),
    isLeft ? say("with these settings {p}", { p: exactly(now) }) : FILTERED,
    ...(isNext ? [say("chosen next")] : []),
  ].join(", ");
  button.setAttribute("aria-description", row.words); // its name is what is written in it
}

function explain({ says, pointed }) {
  const isHint = !pointed || pointed.button.hidden;
  says.textContent = isHint ? HINT : pointed.words;
  says.classList.toggle("hint", isHint);
}

function exactly(value) {
  return value > 0 && value < 0.001 ? scientific(value, 1) : fixed(value, 4);
}
