// What each quantity is made of, so that its numbers are seen to come from there; and by what operation.

import { PARTS } from "./columns.js";
import { PRODUCT, WEIGHTED } from "./numbers.js";

const READ = ["x_normalized", "x"]; // what queries are made of
const SOURCES = { // of each quantity; of several names in one place, the first that this model has
  x_normalized: [["x"]],
  q_projected: [READ],
  k_projected: [["memory", ...READ]],
  q_normalized: [["q_projected"]],
  k_normalized: [["k_projected"]],
  q: [["q_normalized", "q_projected", ...READ]],
  k: [["k_normalized", "k_projected", "memory", ...READ]],
  v: [["memory", ...READ]],
  [PRODUCT]: [["q"], ["k"]],
  product: [[PRODUCT]],
  scaled: [["product"]],
  biased: [["scaled", "product"], ["bias"]],
  capped: [["biased", "scaled", "product"]],
  attn_scores: [["capped", "biased", "scaled", "product"], ["mask"]],
  pattern: [["attn_scores"]],
  pattern_dropped: [["pattern"]],
  [WEIGHTED]: [["pattern"], ["v"]],
  z: [[WEIGHTED]],
  concat: [["z"]],
  attn_projected: [["concat"]],
  attn_out: [["attn_projected", "concat"]],
  attn_dropped: [["attn_out"]],
  resid_mid: [["attn_out"], ["x"]],
  cross_concat: [["cross_x", "normalized", "resid_mid"]],
  cross_projected: [["cross_concat"]],
  cross_out: [["cross_projected", "cross_concat"]],
  mlp_post: [["mlp_pre"], ["mlp_linear"]],
  mlp_projected: [["mlp_post"]],
  mlp_out: [["mlp_projected", "mlp_post"]],
  mlp_dropped: [["mlp_out"]],
  out: [["resid_post"]],
};
const POST_NORM = {
  normalized: [["resid_mid"]],
  resid_mid_cross: [["cross_out"], ["normalized"]],
  normalized_cross: [["resid_mid_cross"]],
  mlp_pre: [["normalized_cross", "normalized"]],
  mlp_linear: [["normalized_cross", "normalized"]],
  resid_post: [["mlp_out"], ["normalized_cross", "normalized"]],
};
const PRE_NORM = {
  cross_x: [["resid_mid"]],
  resid_mid_cross: [["cross_out"], ["resid_mid"]],
  normalized: [["resid_mid_cross", "resid_mid"]],
  mlp_pre: [["normalized", "resid_mid_cross", "resid_mid"]],
  mlp_linear: [["normalized", "resid_mid_cross", "resid_mid"]],
  resid_post: [["mlp_out"], ["resid_mid_cross", "resid_mid"]],
};
const PARALLEL = { ...PRE_NORM, normalized: [["x"]] }; // both sub-layers read the same row
export const OPERATIONS = { // in front of what they make
  x_normalized: "norm",
  q: "W_Q",
  q_projected: "W_Q",
  q_normalized: "norm",
  k: "W_K",
  k_projected: "W_K",
  v: "W_V",
  [PRODUCT]: "⊙",
  product: "Σ",
  scaled: "÷ √d",
  biased: "+ B",
  capped: "tanh",
  attn_scores: "−∞",
  pattern: "softmax",
  [WEIGHTED]: "A · v",
  attn_projected: "W_O",
  attn_out: "W_O",
  resid_mid: "+",
  normalized: "norm",
  cross_x: "norm",
  cross_projected: "W_O",
  cross_out: "W_O",
  resid_mid_cross: "+",
  normalized_cross: "norm",
  mlp_pre: "W₁",
  mlp_post: "f",
  mlp_projected: "W₂",
  mlp_out: "W₂",
  resid_post: "+",
  out: "norm",
};

export const OF_STAGES = { rotation: "R", qk_norm: "norm", output_norm: "norm", feed_forward_norm: "norm" }; // where the stage says more than what comes of it

export function linkStages({ header, home }) {
  // Gives each stage what it shows, what is new in it, and the links along which that comes about.
  const isParallel = header.stages.some((stage) => stage.name === "norm_2" && stage.matrices.includes("x"));
  const preNorm = isParallel ? PARALLEL : PRE_NORM;
  const isPostNorm = header.stages.some(({ name }) => name === "add_norm");
  const sources = { ...SOURCES, ...(isPostNorm ? POST_NORM : preNorm) };
  const born = new Map();
  header.stages.forEach((stage, index) => {
    const names = stage.matrices.filter((name) => home.has(name));
    if (stage.name === "product") names.splice(names.indexOf("product"), 0, PRODUCT);
    if (names.includes("v") && names.includes("pattern")) names.splice(names.indexOf("v") + 1, 0, WEIGHTED);
    stage.shown = new Set(names);
    stage.fresh = names.filter((name) => !born.has(name));
    for (const name of stage.fresh) born.set(name, index);
  });
  for (const stage of header.stages) {
    stage.links = stage.fresh.flatMap((to) =>
      (sources[to] ?? [])
        .map((choices) => choices.find((name) => home.has(name)))
        .filter(Boolean)
        .map((from) => ({ from, to })),
    );
    stage.turns = new Map(); // of what is new: after how many other flights of the stage its own begin
    for (const { from, to } of stage.links) {
      const after = stage.turns.has(from) ? stage.turns.get(from) + 1 : 0;
      stage.turns.set(to, Math.max(after, stage.turns.get(to) ?? 0));
    }
    stage.nTurns = Math.max(0, ...stage.turns.values()) + 1;
  }
  return born;
}

export function partOf(column, name) {
  return PARTS.find((part) => column[part] === name);
}
