// The tree of a text that is being written: tokens as buttons, lines between them, words at the ends of branches.
//
// data: nodes, each after its parent, and ends, as __init__.py sends them. What is drawn is kept by the nodes' ids: a
// token that is added is the only thing that is made again.

import { element, svg } from "../../../../../headlight/components/kit/elements.js";
import { announce } from "../../../../../headlight/components/kit/announce.js";
import { mount } from "../../../../components/kit/mount.js";
import { rove } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { watchTheme } from "../../../../../headlight/components/kit/theme.js";
import { arrangeTree, linePath } from "./lanes.js";
import { follow, next, placeTip, point } from "./walk.js";
import { endInWords, explain, nameOf, nats } from "./words.js";

const GAP = 24; // px between columns, where lines bend
const EDGE = 6; // px around everything
const LANE = 34; // px
const LANE_WITH_WORDS = 44; // px, of one that has an end
const MOST_HEIGHT = 400; // px; more is scrolled
const SCROLLBAR = 14; // px; always there, so that nothing jumps when a text becomes wide

export default await mount(import.meta.url, {
  styles: ["../../../../../headlight/components/kit/tip.css", "./branches.css"],
  make: makeView,
  update,
});

function update(view, data, send) {
  const { root } = view;
  view.data = data;
  view.send = (id) => send("node", { id });
  root.setAttribute("aria-label", data.name);
  const ends = new Set(data.ends.map(({ id }) => id));
  view.tree = arrangeTree(data.nodes, ends);
  fillNodes(view);
  fillEnds(view, ends);
  explain(view);
  paint(view);
  fit(view);
  const { pointed } = view;
  point(view, null);
  if (pointed?.box.isConnected) point(view, pointed); // its text may be new
}

function makeView(root) {
  const view = { root, items: new Map(), pointed: null };
  root.setAttribute("role", "group");
  for (const name of ["legend", "scroller", "field", "tip"]) view[name] = element("div", name);
  view.lines = svg("svg", { "aria-hidden": "true" });
  view.groups = ["others", "taken"].map((name) => svg("g", { class: name }));
  view.lines.append(...view.groups);
  view.tip.popover = "manual"; // above everything, and cut by nothing
  view.tip.setAttribute("aria-hidden", "true"); // the buttons say the same
  view.field.append(view.lines);
  view.scroller.append(view.field);
  root.append(view.legend, view.scroller, view.tip);
  view.theme = watchTheme(root, () => paint(view));
  view.sizes = new ResizeObserver(() => fit(view)); // of tokens, too: their font may come late
  view.sizes.observe(view.scroller);
  view.onScroll = () => placeTip(view);
  listen(view);
  return view;
}

function listen(view) {
  view.roving = rove(view.field, {
    of: ".node, .end",
    next: (key, button) => next(view, key, placeOf(view, button).item),
    onPoint: (box) => point(view, box && placeOf(view, box)),
    onChoose: (box) => {
      const { item } = placeOf(view, box);
      view.send(item.node.id);
      announce(say("Chosen: {name}", { name: nameOf(item) }));
    },
  });
  view.root.addEventListener("keydown", ({ key }) => key === "Escape" && point(view, null));
}

function placeOf(view, box) {
  // The token, or the words at the end of a branch, that is meant.
  return { box, item: view.items.get(Number(box.dataset.id)), isEnd: box.matches(".end") };
}

function fillNodes(view) {
  const { data, items, field, sizes } = view;
  const ids = new Set(data.nodes.map(({ id }) => id));
  for (const [id, { button, line, end }] of items) {
    if (ids.has(id)) continue;
    sizes.unobserve(button);
    for (const part of [button, line, end?.box]) part?.remove();
    items.delete(id);
  }
  for (const node of data.nodes) {
    if (!items.has(node.id)) items.set(node.id, makeItem(view, node));
    updateNode(view, items.get(node.id), node);
  }
  field.append(...[...items.values()].filter(({ button }) => !button.parentNode).map(({ button }) => button));
  view.roving.rest(items.get(data.at).button);
}

function makeItem(view, { id }) {
  const item = { button: element("button", "node"), line: svg("path") };
  Object.assign(item, { word: element("bdi", "word"), score: element("span", "score") });
  Object.assign(item.button, { type: "button", tabIndex: -1 });
  item.button.dataset.id = id;
  item.button.append(item.word, item.score);
  view.sizes.observe(item.button);
  return item;
}

function updateNode(view, item, node) {
  const former = item.node;
  item.node = node;
  const isAt = String(node.id === view.data.at);
  if (item.button.getAttribute("aria-current") !== isAt) item.button.setAttribute("aria-current", isAt);
  if (former && Object.keys(node).every((name) => node[name] === former[name])) return;
  item.button.className = `node ${node.kind}`;
  item.word.textContent = node.label;
  item.score.textContent = node.kind === "dropped" && node.score !== null ? nats(node.score) : "";
  item.button.setAttribute("aria-label", nameOf(item));
  item.line.setAttribute("class", node.kind);
  const group = view.groups[Number(node.taken)];
  if (node.parent !== null && item.line.parentNode !== group) group.append(item.line);
}

function fillEnds(view, ids) {
  const { data, items, field } = view;
  for (const item of items.values()) {
    if (!item.end || ids.has(item.node.id)) continue;
    item.end.box.remove();
    item.end = null;
    item.button.setAttribute("aria-label", nameOf(item));
  }
  for (const end of data.ends) {
    const item = items.get(end.id);
    const box = item.end?.box ?? element("div", "end");
    const isNew = !item.end;
    item.end = { ...end, box };
    box.classList.toggle("taken", item.node.taken);
    if (isNew) {
      box.setAttribute("aria-hidden", "true"); // the button of the last token says the same
      box.dataset.id = end.id;
      box.append(element("bdi", "text"), element("span", "numbers"));
      field.append(box);
    }
    box.firstChild.textContent = end.text;
    box.lastChild.textContent = endInWords(end);
    item.button.setAttribute("aria-label", nameOf(item));
  }
}

function paint(view) {
  // Each token in the color of its probability, and its label in the ink that stands out from it.
  const { data, items, ramp } = view;
  const { sequential, inks } = data.scales[view.theme()];
  for (const item of items.values()) {
    const { node, button } = item;
    const color = node.p === null ? "" : colorOf(sequential, node.p);
    if (item.color === color) continue;
    item.color = color;
    button.style.setProperty("--fill", color);
    button.style.setProperty("--ink", color && inks[Number(node.p > data.deep)]);
  }
  ramp.style.background = `linear-gradient(to right, ${sequential.map(([p, color]) => `${color} ${100 * p}%`)})`;
}

function colorOf(stops, p) {
  const next = Math.max(1, stops.findIndex(([stop]) => stop >= p));
  const [[start, low], [end, high]] = [stops[next - 1], stops[next]];
  return `color-mix(in srgb, ${high} ${(100 * (p - start)) / (end - start)}%, ${low})`;
}

function fit(view) {
  // Puts everything where it belongs: columns are as wide as their widest token, lanes as high as what they hold.
  const { root, data, tree, items, field, scroller, lines } = view;
  if (!data || !root.offsetWidth) return; // it is not seen; it is drawn when it gets its room
  const [widths, heights] = [Array(tree.nColumns).fill(0), Array(tree.nLanes).fill(LANE)];
  for (const item of items.values()) {
    [item.width, item.height] = [item.button.offsetWidth, item.button.offsetHeight];
    const [column, lane] = [tree.columns.get(item.node.id), tree.lanes.get(item.node.id)];
    widths[column] = Math.max(widths[column], item.width);
    if (item.end) [item.end.width, heights[lane]] = [item.end.box.offsetWidth, LANE_WITH_WORDS];
  }
  const [lefts, tops] = [startsOf(widths, GAP), startsOf(heights, 0)];
  let width = 0;
  for (const item of items.values()) {
    const [column, lane] = [tree.columns.get(item.node.id), tree.lanes.get(item.node.id)];
    Object.assign(item, { column, lane, x: lefts[column], y: tops[lane] + heights[lane] / 2 });
    move(item.button, item.x, item.y - item.height / 2);
    if (item.end) move(item.end.box, item.x + item.width + 12, tops[lane]);
    width = Math.max(width, item.x + item.width + (item.end ? 12 + item.end.width : 0) + EDGE);
    const from = items.get(item.node.parent);
    if (from) draw(item.line, linePath({ x: from.x + from.width, y: from.y }, { x: item.x, y: item.y }));
  }
  const height = tops.at(-1) + heights.at(-1) + EDGE;
  for (const part of [field, lines]) Object.assign(part.style, { width: `${width}px`, height: `${height}px` });
  scroller.style.height = `${Math.min(data.height ?? MOST_HEIGHT, height + SCROLLBAR)}px`;
  if (view.followed !== data.at) follow(view, items.get(data.at));
  placeTip(view);
}

function startsOf(sizes, gap) {
  let next = EDGE;
  return sizes.map((size) => [next, (next += size + gap)][0]);
}

function move(box, x, y) {
  const wanted = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  if (box.style.transform !== wanted) box.style.transform = wanted;
}

function draw(line, path) {
  if (line.getAttribute("d") !== path) line.setAttribute("d", path);
}
