// All heads of a model on one text: an overview, and the chosen head as cells or as lines. A separate page, an output of
// a notebook and a widget show the same.
//
// data: {header, packed}, as packing.py makes them.

import { element } from "../components/kit/elements.js";
import { fixed, short } from "../components/kit/numbers.js";
import { say } from "../components/kit/say.js";
import { makeHeatmap, pictureOf, updateHeatmap } from "../components/heatmap/heatmap.js";
import { makeLines, updateLines } from "../components/lines/lines.js";
import { makeOverview, updateOverview } from "../components/overview/overview.js";
import { watchAppearance } from "./appearance.js";
import { decode, FORBIDDEN, NOT_FINITE, strongestCell, thumbnailLevels, weightsOf } from "./decode.js";
import { STYLES } from "./styles.js";
import { endStepper, makeStepper } from "./stepper.js";
import { makeToolbar, updateToolbar } from "./toolbar.js";

const LINES_TOP = 65534; // weight 1, as curves.js has it
const PICTURE_RATIO = 3; // pixels of a saved picture for one of the page
const MOST_PINNED = 8; // heads: as many colors can be told apart

/**
 * @param {HTMLElement} place - whose content is replaced
 * @param {{header: any, packed: Uint8Array<ArrayBuffer>}} data
 * @param {{onChosen?: (head: {attention: string, layer: number, head: number}) => void, signal: AbortSignal}} host
 */
export async function showAttention(place, { header, packed }, { onChosen, signal }) {
  const numbers = await decode(packed);
  const shadow = place.attachShadow({ mode: "open" });
  adopt(shadow, ["attention_view.css"]);
  const root = element("div", "attention-view");
  root.lang = header.language;
  /** @type {Record<string, any>} */
  const view = { root, header, revision: 0, version: 0, ...header.start, onChosen };
  view.groups = groupsOf(header, numbers);
  view.levels = thumbnailLevels(numbers, header.top);
  build(view);
  const dress = (/** @type {"light" | "dark"} */ name) => {
    for (const [variable, value] of Object.entries(header.themes[name])) root.style.setProperty(variable, value);
    root.style.colorScheme = name;
  };
  dress(watchAppearance(place, dress, signal));
  shadow.append(root);
  signal.addEventListener("abort", () => view.stepper && endStepper(view.stepper));
  draw(view);
  return view;
}

function adopt(/** @type {ShadowRoot} */ shadow, /** @type {string[]} */ names) {
  for (const name of ["forced_colors.css", ...names]) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLES[name]);
    shadow.adoptedStyleSheets.push(sheet);
  }
}

function isolated(name, sheets) {
  // A root of this class in a separate shadow tree: the styles of the parts do not affect each other.
  const host = element("div", "part");
  const shadow = host.attachShadow({ mode: "open" });
  adopt(shadow, ["tip.css", ...sheets]);
  const root = element("div", name);
  shadow.append(root);
  return { host, root };
}

function groupsOf({ groups, top }, numbers) {
  // Each attention with the numbers of its heads, and in words its strongest cells.
  let offset = 0;
  return groups.map((group) => {
    const { layers, heads, queries, keys } = group;
    const size = queries.length * keys.length;
    const ofHeads = Array.from({ length: layers * heads }, () => numbers.subarray(offset, (offset += size)));
    const strongest = Array.from({ length: layers }, (_, layer) =>
      ofHeads.slice(layer * heads, (layer + 1) * heads).map((head) => {
        const { query, key, number } = strongestCell(head, keys.length);
        if (number < 0) return say("not finite");
        const words = { query: queries[query], key: keys[key], weight: fixed(number / top, 2) };
        return say("“{query}” → “{key}” {weight}", words);
      }),
    );
    return { ...group, ofHeads, strongest };
  });
}

function build(view) {
  const { root, header } = view;
  view.toolbar = makeToolbar(header, (change) => {
    Object.assign(view, change);
    if (change.attention) choose(view, { attention: change.attention, layer: 0, head: 0 });
    else draw(view);
  });
  const overview = isolated("overview", ["overview.css"]);
  const heatmap = isolated("heatmap", ["heatmap.css"]);
  const lines = isolated("lines", ["lines.css"]);
  view.parts = {
    overview: makeOverview(overview.root),
    cells: makeHeatmap(heatmap.root),
    lines: makeLines(lines.root),
  };
  view.hosts = { cells: heatmap.host, lines: lines.host };
  view.title = element("div", "of-head");
  const figure = element("div", "figure");
  figure.append(view.title, heatmap.host, lines.host);
  const stage = element("div", "stage");
  stage.append(overview.host, figure);
  const notes = element("div", "notes");
  notes.append(...header.notes.map((note) => element("span", "note", note)));
  const stepper = isolated("stepper", ["play_buttons.css", "stepper.css"]);
  if (header.steps) view.stepper = makeStepper(stepper.root, header.steps, () => drawFigure(view));
  root.append(view.toolbar.root, stage, stepper.host, notes);
}

export function choose(view, chosen) {
  const isSame = ["attention", "layer", "head"].every((name) => view.chosen[name] === chosen[name]);
  const group = view.groups.find(({ attention }) => attention === chosen.attention);
  if (isSame || !group?.ofHeads[chosen.layer * group.heads + chosen.head]) return;
  view.chosen = chosen;
  draw(view);
  view.onChosen?.(chosen);
}

function togglePinned(view, { attention, layer, head }) {
  const same = (pin) => pin.attention === attention && pin.layer === layer && pin.head === head;
  const rest = view.pinned.filter((pin) => !same(pin));
  const isNew = rest.length === view.pinned.length;
  const pinned = isNew ? [...rest, { attention, layer, head }] : rest;
  if (pinnedOf({ ...view, pinned }).length > MOST_PINNED) return;
  view.pinned = pinned;
  draw(view);
}

function queryOfStep({ header, chosen, stepper }) {
  // The query that determined the token of the chosen step, or null.
  const step = stepper?.step ?? null;
  return step === null || !header.steps.attentions.includes(chosen.attention) ? null : header.steps.first + step;
}

const pinnedOf = ({ pinned, chosen }) => pinned.filter(({ attention }) => attention === chosen.attention);

function draw(view) {
  updateToolbar(view.toolbar, view);
  drawOverview(view);
  drawFigure(view);
}

function drawOverview(view) {
  const { header, chosen, groups, measure, order } = view;
  const measured = header.measures.find(({ id }) => id === measure);
  view.revision += 1;
  const pins = pinnedOf(view);
  const of = {
    groups: groups.map((group) => ({ ...group, queries: group.queries.length, keys: group.keys.length })),
    chosen: { revision: view.revision, value: chosen },
    version: "1",
    scales: header.scales,
    measure: measured ?? null,
    order: measured ? order : "",
    pinned: pins.map((pin, place) => ({ ...pin, hue: header.hues[place] })),
    canPin: true,
    only: groups.length > 1 ? [chosen.attention] : null,
    divided: null,
  };
  updateOverview(view.parts.overview, { header: of, rest: view.levels }, (name, value) => {
    if (name === "pinned") togglePinned(view, value);
    else choose(view, value.value);
  });
}

function drawFigure(view) {
  const { header, groups, figure, hosts, parts } = view;
  const group = groups.find(({ attention }) => attention === view.chosen.attention);
  const pins = pinnedOf(view);
  const heads = pins.length ? pins : [view.chosen];
  const numbers = heads.map(({ layer, head }) => group.ofHeads[layer * group.heads + head]);
  const names = heads.map(({ layer, head }) => `L${group.layerNumbers[layer]}.H${group.headNumbers[head]}`);
  title(view, names, pins.length > 0);
  hosts.cells.hidden = figure !== "cells";
  hosts.lines.hidden = figure !== "lines";
  const sides = { titles: { query: say("query"), key: say("key") }, colors: header.colors };
  if (figure === "cells") {
    updateHeatmap(parts.cells, {
      name: names.join(" + "),
      queries: group.queries,
      keys: group.keys,
      weights: weightsOf(numbers, header.top),
      decimals: header.decimals,
      scales: header.scales,
      step: queryOfStep(view),
      ...sides,
    });
  } else {
    const { queries: query, keys: key } = group;
    const none = { query: null, key: null };
    const border = group.border;
    const fine = Uint16Array.from(numbers.flatMap((head) => Array.from(head, (number) => ofLines(number, header.top))));
    const hues = header.hues.slice(0, names.length);
    const of = { query, key, names, hues, first: { query: 0, key: 0 }, border, generatedFrom: null };
    const [step, isSame] = [queryOfStep(view), view.linesOf === group.attention];
    view.linesOf = group.attention;
    view.revision += 1;
    const marked = step !== null ? { query: step, key: null } : isSame && !view.stepper ? parts.lines.pinned : none;
    const chosen = { revision: view.revision, value: marked };
    updateLines(parts.lines, { header: { ...of, ...sides, chosen }, weights: fine }, () => {});
    const { scroller, pitch } = parts.lines;
    if (step !== null) scroller.scrollTop = (step + 0.5) * pitch - scroller.clientHeight / 2;
  }
}

function ofLines(number, top) {
  if (number === FORBIDDEN) return FORBIDDEN;
  return number === NOT_FINITE ? 0 : Math.round((number / top) * LINES_TOP);
}

function saveButton({ parts }, names) {
  const save = element("button", "clear", say("Save picture"));
  save.type = "button";
  save.addEventListener("click", () =>
    pictureOf(parts.cells, PICTURE_RATIO).toBlob((blob) => {
      const link = element("a", "");
      Object.assign(link, { href: URL.createObjectURL(/** @type {Blob} */ (blob)), download: `${names.join("+")}.png` });
      link.click();
      URL.revokeObjectURL(link.href);
    }),
  );
  return save;
}

function title(view, names, isCombined) {
  const { header, chosen, figure } = view;
  const details = element("div", "details");
  const parts = [element("strong", "", names.join(" + ")), details];
  if (isCombined) {
    const words = say("mean of {n} heads", { n: names.length });
    if (names.length > 1 && figure === "cells") details.append(element("span", "measure", words));
    const clear = element("button", "clear", say("Clear"));
    clear.type = "button";
    clear.addEventListener("click", () => {
      view.pinned = [];
      draw(view);
    });
    parts.push(clear);
  } else {
    for (const { name, unit, values } of header.measures) {
      const value = values[chosen.attention]?.[chosen.layer][chosen.head] ?? null;
      if (value !== null) details.append(element("span", "measure", `${name} ${short(value)}${unit && ` ${unit}`}`));
    }
  }
  if (figure === "cells") parts.push(saveButton(view, names));
  view.title.replaceChildren(...parts);
}
