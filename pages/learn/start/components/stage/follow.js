// Which tokens the prediction comes from: its row is followed through the blocks, with a line for what a head writes
// from one token's position to another's. Pointing at a token follows that one, and shows what it feeds (dashed).

import { element, svg } from "../../../../../headlight/components/kit/elements.js";
import { probability } from "../../../../../headlight/components/kit/numbers.js";
import { say } from "../../../../../headlight/components/kit/say.js";

const LEAST_WIDTH = 1;
const WIDTH = 7; // added to that for a share of 1
const OPAQUE = 0.2; // the share from which a line is opaque
const STRONG = 0.05; // the share from which the head's map stands out
const GAP = 4; // between a panel and the ends of its lines

/** @typedef {{step: number, head: number, query: number, key: number, share: number}} Line */
/** @typedef {{side: string, row: number}} Token */

export function makeSources(view) {
  view.sources = element("p", "sources");
  view.sources.title = say(
    "Shares of the tokens in this state: norm-weighted attention, followed through all blocks. A curve is what one head passes on; a share can also be the sum of many thin ones, which are not drawn. This shows what is read; to measure what matters, ablate a head.",
  );
  return view.sources;
}

/**
 * The lines to draw: what feeds the token that is followed, and, where one is pointed at, what that feeds.
 *
 * @param {any} flow - as sources_payload.py makes it
 * @param {Token} token
 * @param {(side: string, row: number) => boolean} isShown
 * @param {boolean} isPointed
 * @returns {{into: Line[], from: Line[]}}
 */
export function linesOf(flow, { side, row }, isShown, isPointed) {
  const all = (lines) => (lines ?? []).map(([step, head, query, key, share]) => ({ step, head, query, key, share }));
  const of = flow.sides[side];
  const from = isPointed ? all(of.feeds[row]) : [];
  return { into: all(of.lines[row]), from: from.filter(({ step, query }) => isShown(flow.rows[step], query)) };
}

export function drawFollowed(view, nShown) {
  // Draws the lines again, for another row, size or token that is pointed at.
  const { header, lanes, sources } = view;
  for (const sheet of lanes.querySelectorAll(".followed")) sheet.remove();
  for (const part of lanes.querySelectorAll(".writes, .source")) part.classList.remove("writes", "source");
  const { flow } = header;
  const current = currentOf(view);
  const token = view.pointed ?? current;
  const words = [flow && view.pointed ? "" : rowInWords(view, current), flow && token ? sourcesInWords(view, token) : ""];
  const how = flow && token ? [" ", element("span", "how", say("by norm-weighted attention through all blocks"))] : [];
  sources.replaceChildren(words.filter(Boolean).join(": "), ...how);
  if (!flow || !token) return;
  const panels = flow.sites.map((site) => view.pictures.filter(({ panel }) => panel.site === site));
  if (panels.some((pictures) => !pictures.length)) return; // not all of them have room
  flow.rows ??= panels.map(([{ panel }]) => panel.rows);
  const isShown = (side, row) => row < nShown(view, side);
  const { into, from } = linesOf(flow, token, isShown, Boolean(view.pointed));
  const sheets = new Sheets(view);
  for (const [lines, kind] of /** @type {const} */ ([[into, "into"], [from, "from"]])) {
    for (const line of lines) {
      const { canvas, panel } = panels[line.step][line.head];
      if (line.share >= STRONG) canvas.closest(".map").classList.add("writes");
      sheets.line(canvas.closest(".panel"), panel, line, kind);
    }
  }
  sheets.threads(token);
  for (const [side, row] of flow.sides[token.side].sources[token.row]) {
    view.strips.find((strip) => strip.side === side)?.tokens.children[row]?.classList.add("source");
  }
}

function currentOf({ header, at }) {
  const row = header.rows[header.isFilling ? 0 : at];
  return row === undefined ? null : { side: header.generating, row };
}

function rowInWords({ header, strips, at }, current) {
  // What the row is for that is marked; "" where no lane has it.
  if (!current || !strips.some(({ side }) => side === current.side)) return "";
  if (header.isFilling) return say("The row of the blank predicts the token that fills it");
  const label = header.sides[current.side].labels[current.row];
  const words = { label, next: header.nextLabels[at] };
  if (header.lessProbable.includes(at)) return say("The row of “{label}” predicts the token after it; generated here", words);
  if (header.flow || !words.next) return say("The row of “{label}” predicts the token after it", words);
  return say("The row of “{label}” predicts the token after it (here “{next}”)", words);
}

function sourcesInWords(view, { side, row }) {
  const { header, at, pointed } = view;
  const { sides, flow, nextLabels, isFilling } = header;
  const largest = flow.sides[side].sources[row].map(([of, place, share]) => ({ of, label: sides[of].labels[place], share: probability(share) }));
  const named = largest.map(({ of, ...one }) => {
    const isOnBoth = largest.some((other) => other.label === one.label && other.of !== of);
    if (!isOnBoth) return say("“{label}” {share}", one);
    return of === "source" ? say("“{label}” (source) {share}", one) : say("“{label}” (target) {share}", one);
  });
  const others = 1 - flow.sides[side].sources[row].reduce((sum, [, , share]) => sum + share, 0);
  const sources = [...named, ...(others >= 0.01 ? [say("all others {share}", { share: probability(others) })] : [])].join(", ");
  if (pointed) return say("State of “{label}” ← {sources}", { label: sides[side].labels[row], sources });
  const label = nextLabels[isFilling ? 0 : at];
  return label ? say("“{label}” ← {sources}", { label, sources }) : say("Next token ← {sources}", { sources });
}

/** The drawings: one in each strip, which scrolls with it, and one over the lanes for what goes between the strips. */
class Sheets {
  constructor(view) {
    this.view = view;
    this.begun = new Map(); // tokens that lines begin at: how far their rows lead, and the largest share
  }

  line(panel, { rows, columns }, { query, key, share }, kind) {
    const [from, to] = [this.strip(columns), this.strip(rows)];
    const { left, right } = sidesOf(panel, to.strip);
    const begin = { x: left - GAP, y: yOf(from, key) };
    const end = { x: right + GAP, y: yOf(to, query) };
    if (from !== to) begin.x = sidesOf(lastPanel(from), from.strip).right + GAP;
    if (kind === "into") this.beginAt(columns, key, begin.x, share);
    if (from === to) this.add(to.strip, curve(begin, end), share, kind);
    else this.across(from.strip, begin, to.strip, end, share, kind);
  }

  across(from, begin, to, end, share, kind) {
    // From the encoder's last panel to a cross-attention, while both are in sight.
    const { lanes } = this.view;
    const isSeen = (strip, { x }) => x >= strip.scrollLeft && x <= strip.scrollLeft + strip.clientWidth + GAP;
    if (!isSeen(from, begin) || !isSeen(to, end)) return;
    const within = (strip, { x, y }) => {
      const origin = offsetOf(strip, lanes);
      return { x: origin.x + x - strip.scrollLeft, y: origin.y + y };
    };
    this.add(lanes, fall(within(from, begin), within(to, end)), share, kind);
  }

  beginAt(side, row, x, share) {
    const name = `${side} ${row}`;
    const former = this.begun.get(name) ?? { side, row, x, share };
    this.begun.set(name, { side, row, x: Math.max(former.x, x), share: Math.max(former.share, share) });
  }

  threads({ side, row }) {
    // The residual stream of each token that is read, as far as it is followed.
    const own = this.strip(side);
    this.beginAt(side, row, sidesOf(lastPanel(own), own.strip).right, 1);
    for (const { side: of, row: at, x, share } of this.begun.values()) {
      const { strip, tokens } = this.strip(of);
      this.add(strip, `M${sidesOf(tokens, strip).right} ${yOf({ strip, tokens }, at)}H${x}`, share, "thread");
    }
  }

  strip(side) {
    return this.view.strips.find((strip) => strip.side === side);
  }

  add(box, way, share, kind) {
    let sheet = [...box.children].find((child) => child.matches(".followed"));
    if (!sheet) {
      sheet = svg("svg", { class: "followed", "aria-hidden": "true" });
      sheet.style.width = `${box.scrollWidth}px`;
      box.append(sheet);
    }
    const isThread = kind === "thread";
    const width = isThread ? LEAST_WIDTH : LEAST_WIDTH + WIDTH * share;
    const opacity = Math.min(1, 0.35 + (0.65 * share) / OPAQUE) * (isThread ? 0.6 : 1);
    sheet.append(svg("path", { class: kind, d: way, "stroke-width": width.toFixed(2), "stroke-opacity": opacity.toFixed(2) }));
  }
}

const lastPanel = ({ strip }) => [...strip.querySelectorAll(".panel")].at(-1);

function sidesOf(part, strip) {
  const left = offsetOf(part, strip).x;
  return { left, right: left + part.offsetWidth };
}

function yOf({ strip, tokens }, row) {
  const item = tokens.children[row];
  return offsetOf(item, strip).y + item.offsetHeight / 2;
}

/** From one point to another, level at both ends. */
export function curve(from, to) {
  const bend = Math.max(Math.abs(to.x - from.x) / 2, 24);
  return `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
}

/** From one point down to another: level where it begins, then steep. */
export function fall(from, to) {
  return `M${from.x} ${from.y}C${from.x + 48} ${from.y} ${to.x} ${to.y - 0.9 * (to.y - from.y)} ${to.x} ${to.y}`;
}

function offsetOf(part, box) {
  // Where it lies in a box, whatever moves or grows meanwhile.
  let [x, y] = [0, 0];
  for (let one = part; one && one !== box && box.contains(one); one = one.offsetParent) {
    x += one.offsetLeft;
    y += one.offsetTop;
  }
  return { x, y };
}
