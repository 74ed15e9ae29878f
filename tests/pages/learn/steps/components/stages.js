// The stages of attention as the page Steps sends them: of each, its matrices with what their rows and columns are.

/** The colors that matrices have by what they belong to. */
export const HUES = { q: "query", k: "key", v: "value", z: "value", concat: "value", pattern: "weight" };

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
