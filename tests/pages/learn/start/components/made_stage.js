// A model as the Start page sends it, with numbers that look random, and the component that shows it.

import { packed } from "../../../packed.js";
import { random } from "../../../canvas.js";
import { shown } from "../../../dom.js";
import show from "../../../../../pages/learn/start/components/stage/stage.js";

const theme = (background, text) => ({
  ...{ diverging: ["#b35806", background, "#542788"], sequential: [background, "#7070d0", "#101040"], background, text },
  ...{ muted: "#808080", forbidden: "#c0c4c8", accent: "#4040c0", border: "#dddddd", query: "#1060c0", key: "#c06010", value: "#10a060" },
});
export const SIDES = { source: { labels: ["the", "cat", "<eos>"], ids: [5, 9, 2] }, target: { labels: ["<bos>", "le", "chat", "."], ids: [1, 6, 7, 4] } };
const N_TOKENS = 6;
const HEADS = 2;

const vectors = (title, site, rows, more = {}) => ({ title, site, shape: "vectors", size: [SIDES[rows].labels.length, 8], nHeads: 1, rows, columns: "", group: "", opens: "", hue: "", most: 2, ...more });
const heads = (site, rows, columns, more = {}) => ({
  ...{ title: "Attention", site, shape: "heads", size: [HEADS, SIDES[rows].labels.length, SIDES[columns].labels.length], nHeads: HEADS, rows, columns },
  ...{ group: "", opens: "", hue: "weight", most: 1, ...more },
});
const lane = (stack, panels) => ({ stack, title: stack, groups: { [`${stack}.0`]: { short: "Block 0", title: `${stack} block 0`, zoom: `${stack}.0` } }, panels });
const ofBlock = (stack) => ({ group: `${stack}.0`, opens: `${stack}.0` });

/** The overview of an encoder-decoder; of a decoder or an encoder alone without the other lane. */
export function overview(kind = "pair") {
  const encoder = lane("encoder", [
    vectors("Embedding", "encoder.hook_embed", "source"),
    heads("encoder.pattern", "source", "source", { ...ofBlock("encoder"), opens: "encoder.0.self_attn" }),
    vectors("FFN", "encoder.mlp", "source", { ...ofBlock("encoder") }),
    vectors("Memory", "encoder.out", "source", ofBlock("encoder")),
  ]);
  const decoder = lane("decoder", [
    vectors("Embedding", "decoder.hook_embed", "target"),
    heads("decoder.pattern", "target", "target", { ...ofBlock("decoder"), opens: "decoder.0.self_attn" }),
    heads("decoder.cross", "target", "source", { ...ofBlock("decoder"), opens: "decoder.0.cross_attn" }),
    vectors("Output", "decoder.out", "target", ofBlock("decoder")),
    vectors("Logits", "hook_logits", "target", { size: [4, N_TOKENS] }),
  ]);
  return { pair: [encoder, decoder], decoder: [decoder], encoder: [encoder] }[kind];
}

const attention = () => [
  lane("decoder", [
    vectors("Queries", "q", "target", { shape: "head vectors", nHeads: HEADS, hue: "query" }),
    vectors("Keys", "k", "source", { shape: "head vectors", nHeads: HEADS, hue: "key" }),
    heads("cross", "target", "source", { opens: "decoder.0.cross_attn" }),
  ]),
];

/** Of the pair: "chat" (2) is written from the encoder's "cat" (1), which is written from "the" (0). */
const nothing = (n) => Array.from({ length: n }, () => []);
const FLOW = {
  sites: ["encoder.pattern", "decoder.pattern", "decoder.cross"],
  sides: {
    source: { sources: [[], [["source", 0, 0.75], ["source", 1, 0.25]], []], lines: [[], [[0, 1, 1, 0, 0.75]], []], feeds: [[], [[2, 1, 2, 1, 0.5], [2, 1, 3, 1, 0.4]], []] },
    target: { sources: [[], [], [["source", 0, 0.375], ["target", 2, 0.25], ["source", 1, 0.125]], []], lines: [[], [], [[2, 1, 2, 1, 0.5], [0, 1, 1, 0, 0.375]], []], feeds: nothing(4) },
  },
};

const LEVELS = { overview: () => overview(), block: () => overview("decoder"), attention, head: () => [] };
const CRUMBS = { overview: [""], block: ["", "decoder.0"], attention: ["", "decoder.0", "decoder.0.cross_attn"], head: ["", "decoder.0", "decoder.0.cross_attn", "decoder.0.cross_attn.1"] };

export function data({ level = "overview", step = 1, revision = 0, temperature = 1, decoding = "greedy", isFilling = false, lanes = LEVELS[level](), ...more } = {}) {
  const next = random(7);
  const values = lanes.flatMap((of) => of.panels).map((panel) => {
    const n = panel.size.reduce((product, size) => product * size, 1);
    const numbers = Float32Array.from({ length: n }, () => (panel.shape === "heads" ? next() : 4 * next() - 2));
    if (panel.shape === "heads" && panel.rows === panel.columns) {
      const [, rows, columns] = panel.size;
      numbers.forEach((_, i) => { if (Math.floor(i / columns) % rows < i % columns) numbers[i] = -Infinity; });
    }
    return numbers;
  });
  const steps = isFilling ? [0] : [0, 1, 2, 3];
  const distributions = level !== "overview" ? [] : steps.map((n) => {
    const tokens = Array.from({ length: N_TOKENS }, (_, i) => (i + n) % N_TOKENS);
    const logProbs = [0.6, 0.2, 0.1, 0.06, 0.03, 0.01].map(Math.log);
    const rows = tokens.map((token, place) => ({ token, place, label: `t${token}`, log_prob: logProbs[place], rank: place }));
    return { nWritten: n, rows, n: N_TOKENS, entropy: 1.2, next: tokens[0], name: "", version: String(n), scores: Float32Array.from(logProbs) };
  });
  const header = {
    zoom: { revision, value: CRUMBS[level].at(-1) },
    step: { revision, value: step },
    sampling: { revision, value: { temperature, top_k: 0, top_p: 1, min_p: 0 } },
    ...{ decoding: { revision, value: decoding }, architecture: "encoder-decoder", headHues: ["#4040c0", "#c06010"], opening: { step: 1, reason: "It is least certain here." } },
    ...{ level, crumbs: CRUMBS[level].map((zoom) => ({ zoom, title: zoom || "Overview" })), lanes, sides: SIDES },
    ...{ generating: isFilling ? "source" : "target", nGiven: isFilling ? 3 : 1, lessProbable: [], rows: isFilling ? [1] : [0, 1, 2, 3] },
    ...{ nextLabels: isFilling ? ["t0"] : ["le", "chat", ".", "<eos>"], hasEnded: !isFilling, isFilling, nFilled: 0, ended: "The end." },
    ...{ distributions: distributions.map((one) => ({ ...one, scores: undefined })), nTokens: level === "overview" ? N_TOKENS : 0 },
    flow: level === "overview" && lanes.length === 2 ? structuredClone(FLOW) : null,
    colors: { light: theme("#ffffff", "#101114"), dark: theme("#000000", "#f0f0f0") },
    ...more,
  };
  return packed(header, ...values, ...distributions.map(({ scores }) => scores));
}

export const stageOf = (how = {}, size = [1100, 600]) => shown(show, "stage", data(how), { size });
