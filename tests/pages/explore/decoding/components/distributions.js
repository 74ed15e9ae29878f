// Next-token distributions for tests of the component that draws them.

import { packed } from "../../../packed.js";

export const OFF = { temperature: 1, top_k: 0, top_p: 1, min_p: 0 };
const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);

/** A distribution as __init__.py says it: the model's own logits by token, what a penalty takes off, and what is next. */
export function distribution({ logits, penalties = {}, next = null, nMost = 40, n = 0, name = "", version = `v${n}` }) {
  const all = Math.log(sum(logits.map(Math.exp)));
  const logProbs = logits.map((logit) => logit - all);
  const scores = logits.map((logit, token) => logit - (penalties[token] ?? 0));
  const order = [...scores.keys()].toSorted((one, other) => scores[other] - scores[one] || other - one);
  const nRows = Math.min(nMost, order.length);
  const places = [...Array(nRows).keys()];
  if (next !== null && order.indexOf(next) >= nRows) places.push(order.indexOf(next));
  const rows = places.map((place) => {
    const token = order[place];
    const rank = logProbs.filter((other) => other > logProbs[token]).length;
    return { token, place, label: `t${token}`, log_prob: logProbs[token], rank };
  });
  const entropy = -sum(logProbs.map((log) => Math.exp(log) * log));
  return { said: { nWritten: n, rows, n: nRows, entropy, next, name, version }, scores: order.map((token) => scores[token]) };
}

export function data(distributions, { sampling = OFF, revision = 0 } = {}) {
  const nTokens = distributions[0].scores.length;
  const header = { distributions: distributions.map(({ said }) => said), nTokens, sampling: { revision, value: sampling } };
  return packed(header, Float32Array.from(distributions.flatMap(({ scores }) => scores)));
}
