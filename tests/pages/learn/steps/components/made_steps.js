// A head as the Steps page sends it, with numbers that look random, and the component that shows it.

import { beforeEach, mock } from "node:test";

import { place, point, prefer, resize, setTheme, shown } from "../../../dom.js";
import { packed } from "../../../packed.js";
import { random } from "../../../canvas.js";
import show from "../../../../../pages/learn/steps/components/steps/steps.js";

/** The colors that matrices have by what they belong to. */
const HUES = { q: "query", k: "key", v: "value", z: "value", concat: "value", pattern: "weight" };
/** The stages, each with its matrices and what their rows and columns are. */
export const STAGES = [
  ["input", { x: ["query", "d_model"] }],
  ["projection", { q: ["query", "d_head"], k: ["key", "d_head"], v: ["key", "d_head"] }],
  ["product", { product: ["query", "key"] }],
  ["mask", { mask: ["query", "key"], attn_scores: ["query", "key"] }],
  ["softmax", { pattern: ["query", "key"] }],
  ["weigh", { v: ["key", "d_head"], pattern: ["query", "key"] }],
  ["z", { z: ["query", "d_head"] }],
  ["concat", { concat: ["query", "head d_head"] }],
  ["output", { attn_out: ["query", "d_model"] }],
];
export const [N_QUERIES, N_KEYS, D_MODEL, D_HEAD, N_HEADS] = [4, 5, 7, 3, 2];
const FIRST = { query: 10, key: 20 };
export const SIZES = { query: N_QUERIES, key: N_KEYS, d_model: D_MODEL, d_head: D_HEAD, "head d_head": N_HEADS * D_HEAD };
export const ADD = ["add", { x: ["query", "d_model"], attn_out: ["query", "d_model"], resid_mid: ["query", "d_model"] }]; // where it is requested
export const ADD_CROSS = ["add_cross", { resid_mid: ["query", "d_model"], cross_out: ["query", "d_model"], resid_mid_cross: ["query", "d_model"] }];
const theme = (background, text, hue) => ({
  ...{ diverging: ["#b35806", background, "#542788"], sequential: [background, "#7070d0", "#101040"], background, text },
  ...{ muted: "#808080", forbidden: "#c0c4c8", notFinite: "#b5179e", accent: "#4040c0", border: "#dddddd", query: hue, key: "#c06010", value: "#10a060" },
});
export const COLORS = { light: theme("#ffffff", "#101114", "#1060c0"), dark: theme("#000000", "#f0f0f0", "#2080ff") };
export const isMasked = (query, key) => (query + key) % 4 === 3;

export const NUMBERS = new Map();
const next = random(11);
for (const [name, [rows, columns]] of [...STAGES, ADD, ADD_CROSS].flatMap(([, matrices]) => Object.entries(matrices))) {
  if (NUMBERS.has(name)) continue;
  const value = (i) => {
    const masked = isMasked(Math.floor(i / N_KEYS), i % N_KEYS);
    if (name === "mask") return Number(!masked);
    if (name === "attn_scores" && masked) return -Infinity;
    if (name === "pattern") return masked ? 0 : 0.9 * next();
    return 4 * (next() - 0.5);
  };
  NUMBERS.set(name, { rows, columns, values: Float32Array.from({ length: SIZES[rows] * SIZES[columns] }, (_, i) => value(i)) });
}
export const valueOf = (name, row, column) => NUMBERS.get(name).values[row * SIZES[NUMBERS.get(name).columns] + column];
export const strongest = (query) => {
  const row = Array.from({ length: N_KEYS }, (_, key) => valueOf("pattern", query, key));
  return row.indexOf(Math.max(...row));
};

export const where = (more = {}) => ({ stage: "product", query: 12, key: 23, cell: null, ...more });

export function data({ at, revision = 0, stages = STAGES, ...more } = {}) {
  const quantities = [...NUMBERS].map(([name, { rows, columns }]) => ({
    ...{ name, symbol: name, caption: name, title: `title of ${name}`, rows, columns, hue: HUES[name] ?? "" },
    ...{ shape: [SIZES[rows], SIZES[columns]], size: `${rows} × ${columns}` },
  }));
  const pair = (symbol, hue) => ({ symbol, caption: symbol, title: symbol, hue, size: "" });
  const formula = (name) => ["mrow", [["mi", name]]];
  const header = {
    stages: stages.map(([name, matrices]) => ({ name, short: name.slice(0, 3), title: `The ${name}`, notice: `See ${name}.`, formula: formula(name), matrices: Object.keys(matrices) })),
    ...{ quantities, pairs: { elementwise: pair("q*k", ""), weighted: pair("Av", "value") } },
    query: Array.from({ length: N_QUERIES }, (_, i) => `q${i}`),
    key: Array.from({ length: N_KEYS }, (_, i) => `k${i}`),
    ...{ first: FIRST, nQueries: 40, nKeys: 50, border: { query: null, key: null }, head: 1, nHeads: N_HEADS, dHead: D_HEAD, isSelf: false },
    ...{ at: { revision, value: where(at) }, colors: COLORS, ...more },
  };
  return packed(header, ...[...NUMBERS.values()].map(({ values }) => values));
}

const WIDTH = 1200;

export function made(more) {
  const steps = shown(show, "steps", data(more));
  resize(steps.find(".figure"), WIDTH, 600);
  const canvas = steps.find("canvas");
  place(canvas, { left: 0, top: 0, width: WIDTH, height: 600 });
  const title = () => steps.find(".says .title").textContent;
  const texts = () => canvas.getContext("2d").texts;
  /** Where the middle of a column is painted, by its name above it, and of a key's row, by its token. */
  const across = (name) => {
    const operation = texts().find(({ text, y }) => text === name && y < 30);
    return operation.x + 3 * name.length;
  };
  const down = (key) => parseFloat(steps.findAll(".key")[key].style.top) + parseFloat(steps.findAll(".key")[key].style.height) / 2;
  const on = (type, x, y) => point(canvas, type, { clientX: x, clientY: y });
  const sent = () => steps.told.map(([, { value }]) => value);
  const soon = () => (mock.timers.tick(219), steps.told.length);
  const settle = () => mock.timers.tick(220);
  const numbers = (name) => steps.findAll(".number").filter(({ dataset }) => dataset.name === name);
  const focus = () => steps.root.getRootNode().activeElement;
  const chips = () => steps.findAll(".chip").findIndex(({ ariaPressed }) => ariaPressed === "true");
  const keys = () => steps.findAll(".key").findIndex(({ ariaPressed }) => ariaPressed === "true");
  return { ...steps, canvas, title, texts, across, down, on, all: sent, soon, settle, numbers, focus, chips, keys, messages: steps.told };
}

export const stageOf = (steps) => Number(steps.title().split(".")[0]) - 1;
export const current = (steps) => steps.findAll(".stop").findIndex((stop) => stop.getAttribute("aria-current") === "step");

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  setTheme("light");
  prefer("(prefers-reduced-motion: reduce)", false);
});
