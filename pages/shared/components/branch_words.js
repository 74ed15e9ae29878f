// What a token of a tree says of itself: to who points at it, and to who does not see it.

const KINDS = {
  given: "given to the model",
  written: "written by the model",
  forced: "put here by hand",
  kept: "kept by the search",
  ended: "a text ends here",
  dropped: "dropped by the search",
};
const LEGEND = { forced: "dotted: put by hand", ended: "bar: a text ends", dropped: "dashed: dropped, with its score" };

function nats(value) {
  return value === null ? "−∞" : value.toFixed(2).replace("-", "−");
}

function share(p) {
  if (p >= 0.1 || p === 0) return p.toFixed(2);
  return p < 0.0001 ? "<0.0001" : p.toPrecision(p < 0.001 ? 1 : 2);
}

function rankInWords(rank) {
  if (rank === 0) return "the most probable token";
  return rank === 1 ? "1 token was more probable" : `${rank} tokens were more probable`;
}

function probabilityInWords({ p, rank }) {
  return p === null ? "" : [`probability ${share(p)}`, rank !== null && rankInWords(rank)].filter(Boolean).join(", ");
}

function endInWords({ total, n_tokens: n, score }) {
  const mean = total === null || n === 0 ? "" : `${nats(total / n)} a token`;
  return [`${nats(total)} nats`, mean, score !== null && `score ${nats(score)}`].filter(Boolean).join(" · ");
}

function nameOf({ node, end }) {
  const { label, position, kind, score } = node;
  const parts = [`'${label}', token ${position}`, probabilityInWords(node), KINDS[kind]];
  if (score !== null) parts.push(`score ${nats(score)}`);
  if (end) parts.push(`end of the branch “${end.text}”, ${endInWords(end)}`);
  return parts.filter(Boolean).join("; ");
}

function tipOf({ node }, alternatives) {
  // Lines of the box beside a token.
  const { label, position, kind, p, log, rank, score } = node;
  const head = element("div", "who");
  head.append(element("bdi", "", label), element("span", "", `token ${position}, ${KINDS[kind]}`));
  const lines = [head];
  if (p !== null) {
    lines.push(element("div", "", probabilityInWords(node)));
    lines.push(element("div", "", `log-probability ${nats(log)} nats`));
  }
  if (score !== null) lines.push(element("div", "", `score of the beam ${nats(score)}`));
  if (alternatives.length) lines.push(element("div", "title", "What could have stood here"));
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

function tipOfEnd(end) {
  const words = `${end.n_tokens} token${end.n_tokens === 1 ? "" : "s"}, together ${endInWords(end)}`;
  return [element("div", "whole", end.text), element("div", "", words)];
}

function explain(view) {
  // The line above the tree.
  const { legend, data } = view;
  const kinds = new Set(data.nodes.map(({ kind }) => kind));
  const said = Object.entries(LEGEND).filter(([kind]) => kinds.has(kind));
  const lines = [`strong line: ${data.path}`, ...said.map(([, words]) => words)].join("; ");
  const words = `${lines}. Click a token to look at its moment; arrow keys walk.`;
  if (view.explained === words) return;
  view.explained = words;
  view.ramp = element("i", "ramp");
  const colors = element("span", "colors");
  colors.append("probability 0", view.ramp, "1");
  legend.replaceChildren(colors, element("span", "", words));
}
