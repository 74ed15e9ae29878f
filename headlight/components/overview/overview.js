// All heads at once: one canvas under a grid of buttons, one button a head.
//
// data: a header, and one byte a cell of every picture, as thumbnails.js paints it.

import { element } from "../kit/elements.js";
import { announce } from "../kit/announce.js";
import { shownHead } from "../kit/channel.js";
import { short } from "../kit/numbers.js";
import { inRows, rove } from "../kit/roving.js";
import { SharedValue } from "../kit/shared_value.js";
import { say } from "../kit/say.js";
import { watchTheme } from "../kit/theme.js";
import { arrange, BAR, drawnGroups, fit, HEADER, headsInOrder, LEGEND } from "./arrangement.js";
import { paint } from "./thumbnails.js";

export function updateOverview(view, { header, rest: levels }, send) {
  // Returns whether the heads are the same as before.
  view.send = (what, head) => send(what, head);
  const isSame = hasSameHeads(view.header, header);
  const isNew = header.version !== view.header?.version;
  Object.assign(view, { header, levels });
  if (!isSame) makeHeads(view);
  if (isNew) fill(view);
  mark(view);
  const layout = layoutOf(view);
  if (!isSame || layout !== view.layout) {
    view.layout = layout;
    arrange(view);
  } else if (isNew) paint(view);
  choose(view, view.chosen.hear(header.chosen) ? header.chosen.value : view.head);
  showChosen(view);
  if (view.pointedAt && !view.tip.hidden) showTip(view, view.pointedAt);
  return isSame;
}

export function makeOverview(root) {
  /** @type {Record<string, any>} */
  const view = { root, heads: [], rows: [], grids: [] };
  view.chosen = new SharedValue((message) => view.send("chosen", message));
  view.legend = element("div", "legend");
  view.field = element("div", "field");
  view.canvas = element("canvas", "pixels");
  view.canvas.setAttribute("aria-hidden", "true");
  view.groups = element("div", "groups");
  view.field.append(view.canvas, view.groups);
  view.tip = element("div", "tip");
  view.tip.hidden = true;
  view.tip.setAttribute("aria-hidden", "true"); // the buttons say the same
  root.append(view.legend, view.field, view.tip);
  view.theme = watchTheme(root, () => paint(view));
  new ResizeObserver(() => paint(view)).observe(view.field);
  new ResizeObserver(() => fit(view)).observe(root);
  const itemOf = (button) => view.heads.find((item) => item.button === button);
  view.roving = rove(view.groups, {
    of: ".head",
    next: (key, button) => next(view, key, itemOf(button)),
    onPoint: (button) => (button ? showTip(view, (view.pointedAt = itemOf(button))) : (view.tip.hidden = true)),
    onChoose: (button, event) => press(view, itemOf(button), event),
  });
  root.addEventListener("scroll", () => (view.tip.hidden = true));
  return view;
}

function hasSameHeads(former, header) {
  const shape = (group) => [group.attention, group.title, group.layers, group.heads].join();
  return former?.groups.map(shape).join() === header.groups.map(shape).join();
}

function layoutOf(view) {
  // Two that are equal have every button in the same place.
  const { header } = view;
  const orders = header.order
    ? drawnGroups(header).map((group) => headsInOrder(view, group).map(({ layer, head }) => `${layer}.${head}`))
    : [];
  return JSON.stringify([header.only, header.order, Boolean(header.measure), orders]);
}

function makeHeads(view) {
  view.heads = [];
  for (const { attention, layers, heads, queries: rows, keys: columns, ...group } of view.header.groups) {
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < heads; head++) {
        const numbers = { layer: group.layerNumbers?.[layer] ?? layer, head: group.headNumbers?.[head] ?? head };
        const item = { attention, layer, head, numbers, rows, columns, levels: new Uint8Array(), value: null };
        view.heads.push(makeHead(item));
      }
    }
  }
}

function makeHead(item) {
  item.button = element("button", "head");
  item.button.type = "button";
  item.button.tabIndex = -1;
  item.gauge = element("div", "gauge");
  item.bar = element("div", "bar");
  item.number = element("span", "number");
  item.unit = element("span", "unit");
  item.gauge.append(item.bar, item.number, item.unit);
  return item;
}

function press(view, item, event) {
  const { attention, layer, head, name } = item;
  if (event.shiftKey && view.header.canPin) return view.send("pinned", { attention, layer, head });
  choose(view, { attention, layer, head });
  view.chosen.tell({ attention, layer, head });
  shownHead.send(item);
  announce(say("Chosen: {name}", { name }));
}

function fill(view) {
  // New pictures under the same buttons: another text, or a moment later in a training.
  const { header } = view;
  let [offset, next] = [0, 0];
  for (const { title, layers, heads, queries: rows, keys: columns, strongest } of header.groups) {
    for (const item of view.heads.slice(next, (next += layers * heads))) {
      const { layer, head } = item;
      item.name = say("{attention} L{layer}.H{head}", { attention: title, ...item.numbers });
      item.strongest = strongest?.[layer][head] ?? "";
      const levels = view.levels.subarray(offset, (offset += rows * columns));
      if (!header.film) Object.assign(item, { levels, rows, columns });
    }
  }
  view.tip.hidden = true;
}

function mark(view) {
  // The texts of single heads beside their pictures: a measure, and which of them are combined.
  const { root, header, legend } = view;
  const { measure, pinned } = header;
  root.classList.toggle("measured", Boolean(measure));
  legend.hidden = !measure;
  if (measure) explain(legend, measure, header.order);
  for (const item of view.heads) {
    const { attention, layer, head, button, bar } = item;
    item.value = measure?.values[attention]?.[layer][head] ?? null;
    item.said = measure && said(measure, item.value);
    showBar(bar, measure, item.value);
    item.number.textContent = item.value === null ? "" : short(item.value);
    item.unit.textContent = item.value === null ? "" : measure.unit;
    const pin = pinned.find((it) => it.attention === attention && it.layer === layer && it.head === head);
    item.isPinned = Boolean(pin);
    button.classList.toggle("pinned", item.isPinned);
    button.style.setProperty("--hue", pin?.hue ?? "");
    if (header.canPin) button.setAttribute("aria-keyshortcuts", "p");
    else button.removeAttribute("aria-keyshortcuts");
    sayName(item);
  }
}

function explain(legend, { name, title, unit, ends }, order) {
  const [lowest, highest] = ends.map((end) => short(end).replace(/\.0+$|(\.\d*?)0+$/, "$1"));
  const words = [say("{name}, {lowest} to {highest}", { name, lowest, highest }) + (unit && ` ${unit}`)];
  if (order) words.push(order === "ascending" ? say("ascending") : say("descending"));
  legend.title = title;
  legend.replaceChildren(element("span", "swatch"), element("span", "", say("bar: {words}", { words: words.join("; ") })));
}

function showBar(bar, measure, value) {
  bar.classList.toggle("none", value === null);
  if (value === null) return;
  const [low, high] = measure.ends;
  const share = (number) => Math.min(Math.max((number - low) / (high - low || 1), 0), 1);
  const [start, end] = [share(0), share(value)].sort((one, other) => one - other);
  bar.style.setProperty("--start", start);
  bar.style.setProperty("--end", end);
}

function said({ name, unit }, value) {
  return value === null ? say("{name}: not applicable", { name }) : `${name} ${short(value)}${unit && ` ${unit}`}`;
}

export function sayName({ button, name, strongest, said, isPinned }) {
  const words = [say("{name}. Strongest: {strongest}", { name, strongest }), said, isPinned && say("combined")];
  button.setAttribute("aria-label", words.filter(Boolean).join(". "));
}

function choose(view, chosen) {
  view.head = chosen;
  for (const item of view.heads) {
    const is = item.attention === chosen.attention && item.layer === chosen.layer && item.head === chosen.head;
    item.button.setAttribute("aria-pressed", String(is));
  }
  const drawn = view.rows.flat().map(({ button }) => button);
  view.roving.rest(drawn.find((button) => button.getAttribute("aria-pressed") === "true") ?? drawn[0]);
}

function showChosen(view) {
  // Scrolls the overview, never the page.
  const button = view.rows.flat().find((item) => item.button.getAttribute("aria-pressed") === "true")?.button;
  if (!button) return;
  const [around, box] = [view.root.getBoundingClientRect(), button.getBoundingClientRect()];
  if (box.bottom > around.bottom) view.root.scrollTop += box.bottom - around.bottom + 6;
  if (box.top < around.top) view.root.scrollTop -= around.top - box.top + HEADER + (view.header.measure ? LEGEND : 0);
}

function next(view, key, item) {
  const { attention, layer, head } = item;
  if (key.toLowerCase() === "p" && view.header.canPin) {
    view.send("pinned", { attention, layer, head });
    return null;
  }
  const row = view.rows.findIndex((items) => items.includes(item));
  const to = inRows(key, { row, column: view.rows[row].indexOf(item) }, view.rows.map(({ length }) => length));
  return to && view.rows[to.row][to.column].button;
}

export function showTip(view, { button, name, strongest, said, isPinned }) {
  const { tip, root, header } = view;
  tip.replaceChildren(element("strong", "", name), element("span", "", strongest));
  if (said) tip.append(element("span", "", said));
  const hint = isPinned ? say("shift-click: remove from the combination") : say("shift-click: add to the combination");
  if (header.canPin) tip.append(element("span", "hint", hint));
  tip.hidden = false;
  const [around, box] = [root.getBoundingClientRect(), button.getBoundingClientRect()];
  const below = box.bottom - around.top + root.scrollTop + (header.measure ? BAR : 0) + 6;
  const fits = below + tip.offsetHeight < root.scrollTop + root.clientHeight;
  tip.style.top = `${fits ? below : box.top - around.top + root.scrollTop - tip.offsetHeight - 6}px`;
  const left = box.left - around.left + box.width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${root.scrollLeft + Math.min(Math.max(left, 0), root.clientWidth - tip.offsetWidth)}px`;
}
