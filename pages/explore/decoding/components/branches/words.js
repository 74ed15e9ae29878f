// What a token of a tree says of itself: to who points at it, and to who does not see it.

import { fixed } from "../../../../components/kit/numbers.js";
import { element } from "../../../../components/kit/elements.js";
import { say } from "../../../../components/kit/say.js";

const KINDS = {
  given: say("given to the model"),
  written: say("written by the model"),
  forced: say("put here by hand"),
  kept: say("kept by the search"),
  ended: say("a text ends here"),
  dropped: say("dropped by the search"),
};
const LEGEND = {
  forced: say("dotted: put by hand"),
  ended: say("bar: a text ends"),
  dropped: say("dashed: dropped, with its score"),
};

export function nats(value) {
  return fixed(value ?? -Infinity, 2);
}

function share(p) {
  if (p >= 0.1 || p === 0) return p.toFixed(2);
  return p < 0.0001 ? "<0.0001" : p.toPrecision(p < 0.001 ? 1 : 2);
}

function rankInWords(rank) {
  if (rank === 0) return say("the most probable token");
  return rank === 1 ? say("1 token was more probable") : say("{n} tokens were more probable", { n: rank });
}

function probabilityInWords({ p, rank }) {
  if (p === null) return "";
  return [say("probability {p}", { p: share(p) }), rank !== null && rankInWords(rank)].filter(Boolean).join(", ");
}

export function endInWords({ total, n_tokens: n, score }) {
  const mean = total === null || n === 0 ? "" : say("{nats} per token", { nats: nats(total / n) });
  const parts = [`${nats(total)} nats`, mean, score !== null && say("score {score}", { score: nats(score) })];
  return parts.filter(Boolean).join(" · ");
}

export function nameOf({ node, end }) {
  const { label, position, kind, score } = node;
  const parts = [say("'{label}', token {position}", { label, position }), probabilityInWords(node), KINDS[kind]];
  if (score !== null) parts.push(say("score {score}", { score: nats(score) }));
  if (end) parts.push(say("end of the branch “{text}”, {numbers}", { text: end.text, numbers: endInWords(end) }));
  return parts.filter(Boolean).join("; ");
}

export function tipOf({ node }, alternatives) {
  // Lines of the box beside a token.
  const { label, position, kind, p, log, rank, score } = node;
  const head = element("div", "who");
  head.append(element("bdi", "", label), element("span", "", say("token {position}, {kind}", { position, kind: KINDS[kind] })));
  const lines = [head];
  if (p !== null) {
    lines.push(element("div", "", probabilityInWords(node)));
    lines.push(element("div", "", say("log-probability {nats} nats", { nats: nats(log) })));
  }
  if (score !== null) lines.push(element("div", "", say("score of the beam {score}", { score: nats(score) })));
  if (alternatives.length) lines.push(element("div", "title", say("What could have stood here")));
  const largest = Math.max(...alternatives.map(([, other]) => other));
  alternatives.forEach(([other, probability], place) => {
    const line = element("div", place === rank ? "other own" : "other");
    const bar = element("i", "bar");
    bar.style.width = `${(100 * probability) / largest}%`;
    const track = element("span", "track");
    track.append(bar);
    line.append(element("bdi", "", other), track, element("span", "number", share(probability)));
    lines.push(line);
  });
  return lines;
}

export function tipOfEnd(end) {
  const told = { n: end.n_tokens, numbers: endInWords(end) };
  const words =
    end.n_tokens === 1 ? say("{n} token, together {numbers}", told) : say("{n} tokens, together {numbers}", told);
  return [element("div", "whole", end.text), element("div", "", words)];
}

export function explain(view) {
  // The line above the tree.
  const { legend, data } = view;
  const kinds = new Set(data.nodes.map(({ kind }) => kind));
  const said = Object.entries(LEGEND).filter(([kind]) => kinds.has(kind));
  const lines = [say("strong line: {path}", { path: data.path }), ...said.map(([, words]) => words)].join("; ");
  const words = say("{lines}. Click a token to look at its step; arrow keys walk.", { lines });
  if (view.explained === words) return;
  view.explained = words;
  view.ramp = element("i", "ramp");
  const colors = element("span", "colors");
  colors.append(say("probability 0"), view.ramp, "1");
  legend.replaceChildren(colors, element("span", "", words));
}
