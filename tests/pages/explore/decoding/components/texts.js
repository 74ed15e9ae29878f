// Texts that are being written, for tests of the component that draws them.

import { run, shown } from "../../../dom.js";
import { packed } from "../../../packed.js";

const KINDS = ["given", "written", "forced"];
export const SHADES = {
  light: ["#ffffff", "#c0c0c0", "#808080", "#404040", "#000000"].map((ground, i) => [ground, i < 3 ? "#000001" : "#fffffe"]),
  dark: ["#000000", "#400000", "#800000", "#c00000", "#ff0000"].map((ground, i) => [ground, i < 3 ? "#fffffd" : "#000002"]),
};

export const given = (label) => ({ label, kind: "given" });
export const written = (label, p, more = {}) => ({ label, kind: "written", logProb: Math.log(p), rank: 0, entropy: 1.25, alternatives: [], ...more });

/** Numbers as _table in __init__.py lays them out: what is not there is NaN. */
function table(tokens) {
  const labels = [...new Set(tokens.flatMap(({ label, alternatives = [] }) => [label, ...alternatives.map(([other]) => other)]))];
  const n = Math.max(...tokens.map(({ alternatives = [] }) => alternatives.length));
  const numbers = tokens.flatMap(({ label, kind, logProb = NaN, rank = NaN, entropy = NaN, alternatives = [] }) => {
    const lacking = Array(n - alternatives.length).fill(NaN);
    const names = alternatives.map(([other]) => labels.indexOf(other));
    return [labels.indexOf(label), KINDS.indexOf(kind), logProb, rank, entropy, ...names, ...lacking, ...alternatives.map(([, p]) => p), ...lacking];
  });
  return { labels, numbers };
}

/** looked: by step, [weights over the source, weights over the output]; the selected step comes first. */
export function data({ source = [], tokens, nGiven, at, revision = 0, looked = {}, ended = null, aims }) {
  const { labels, numbers } = table(tokens);
  const steps = [at, ...Object.keys(looked).map(Number).filter((n) => n !== at)].map((n) => [n, looked[n] ?? [[], []]]);
  const header = {
    ...{ labels, kinds: KINDS, source, nOutput: tokens.length, nGiven, at: { revision, value: at } },
    steps: steps.map(([n, [ofSource, ofOutput]]) => ({ n, source: ofSource.length, output: ofOutput.length })),
    ...{ aims: aims ?? { source: "cross-attention", output: "self-attention" }, ended, shades: SHADES, hue: "#445566" },
  };
  return packed(header, Float32Array.from([...numbers, ...steps.flatMap(([, sides]) => sides.flat())]));
}

/**
 * A writing on the page, with a server that answers on demand: `answer()` goes to the step that was requested
 * last, and writes what is missing there; at `most` tokens the text is over. `state` is what the server knows.
 */
export function open(show, state, where) {
  const full = { revision: 0, most: Infinity, ...state };
  const writing = shown(show, "writing", data(full), where);
  const update = (more = {}) => writing.update(data(Object.assign(full, more)));
  const requests = () => writing.told.map(([, { value }]) => value);
  function answer(more = {}) {
    const { revision, value } = writing.told.at(-1)[1];
    const tokens = [...full.tokens];
    const last = Math.min(value, full.most);
    while (tokens.length < full.nGiven + last) tokens.push(written(`w${tokens.length}`, 0.5));
    update({ tokens, revision, at: last, ended: tokens.length - full.nGiven >= full.most ? "It is over." : null, ...more });
  }
  return { ...writing, state: full, update, answer, requests };
}

/** Let timers run for this many ms: `timers` are those of a test's mock, which are to be enabled before. */
export function wait(timers, ms) {
  for (let past = 0; past < ms; past += 10) {
    run(10);
    timers.tick(10);
  }
}
