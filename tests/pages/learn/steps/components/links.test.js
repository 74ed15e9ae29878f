// What each quantity of the steps comes from, in models of every kind, and the columns that the quantities stand in.

import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../canvas.js";
import { layOut, makeColumns } from "../../../../../pages/learn/steps/components/steps/columns.js";
import { linkStages } from "../../../../../pages/learn/steps/components/steps/links.js";

const SIZES = { query: 4, key: 5, d_model: 7, d_head: 3, "head d_head": 6, d_ff: 9 };
const OF_KEYS = ["k", "k_projected", "k_normalized", "v", "memory"];
const OF_PAIRS = ["product", "scaled", "bias", "biased", "mask", "attn_scores", "pattern"];
const OF_HEAD = ["q", "q_projected", "q_normalized", "k", "k_projected", "k_normalized", "v", "z"];

function quantityOf(name) {
  const rows = OF_KEYS.includes(name) ? "key" : "query";
  const columns = OF_PAIRS.includes(name) ? "key" : OF_HEAD.includes(name) ? "d_head" : name.endsWith("concat") ? "head d_head" : name.startsWith("mlp_") && name !== "mlp_out" ? "d_ff" : "d_model";
  return { name, rows, columns, width: SIZES[columns] };
}

/** A model's stages, each with what it shows and, after ">", from what each new quantity of it comes. */
function made(stages, isSelf = true) {
  const header = { stages: stages.map(([name, matrices]) => ({ name, matrices: matrices.split(" ") })), isSelf, key: Array(5).fill("k") };
  const quantities = new Map(header.stages.flatMap(({ matrices }) => matrices).map((name) => [name, quantityOf(name)]));
  const view = { header, quantities };
  Object.assign(view, makeColumns(view));
  view.born = linkStages(view);
  return view;
}

function check(stages, isSelf) {
  const view = made(stages, isSelf);
  stages.forEach(([name, , ...wanted], i) => {
    const sources = new Map();
    for (const { from, to } of view.header.stages[i].links) sources.set(to, [...(sources.get(to) ?? []), from]);
    const links = [...sources].map(([to, from]) => `${to} < ${from.toSorted().join(" ")}`).toSorted();
    assert.deepEqual(links, wanted.toSorted(), name);
  });
  const { columns } = view;
  const places = columns.map(({ id }) => id);
  for (const [before, after] of [["elementwise", "product"], ["pattern", "v"], ["v", "weighted"]]) {
    assert.equal(places.indexOf(before) + 1, places.indexOf(after), `${before} stands before ${after}`);
  }
  for (const { links } of view.header.stages) {
    for (const { from, to } of links) { // numbers flow to the right
      const [one, other] = [from, to].map((of) => columns.indexOf(view.home.get(of)));
      assert.ok(one <= other, `${from} is left of ${to}`);
    }
  }
  return view;
}

const ATTENTION = [
  ["softmax", "attn_scores pattern", "pattern < attn_scores"],
  ["weigh", "pattern v", "weighted < pattern v"],
  ["z", "pattern v z", "z < weighted"],
  ["concat", "z concat", "concat < z"],
  ["output", "concat attn_out", "attn_out < concat"],
];

test("post-norm: each sub-layer reads what the norm before it gave", () => {
  check([
    ["input", "x"],
    ["projection", "x q k v", "q < x", "k < x", "v < x"],
    ["product", "q k product", "elementwise < k q", "product < elementwise"],
    ["scale", "product scaled", "scaled < product"],
    ["mask", "scaled mask attn_scores", "attn_scores < mask scaled"],
    ...ATTENTION,
    ["add_norm", "x attn_out resid_mid normalized", "resid_mid < attn_out x", "normalized < resid_mid"],
    ["cross", "normalized cross_concat cross_out resid_mid_cross normalized_cross", "cross_concat < normalized", "cross_out < cross_concat", "resid_mid_cross < cross_out normalized", "normalized_cross < resid_mid_cross"],
    ["feed_forward", "normalized_cross mlp_pre mlp_post mlp_out", "mlp_pre < normalized_cross", "mlp_post < mlp_pre", "mlp_out < mlp_post"],
    ["add_norm_2", "normalized_cross mlp_out resid_post out", "resid_post < mlp_out normalized_cross", "out < resid_post"],
  ]);
});

const PRE = (norm_2) => [
  ["input", "x"],
  ["norm", "x x_normalized", "x_normalized < x"],
  ["projection", "x_normalized q_projected k_projected v", "q_projected < x_normalized", "k_projected < x_normalized", "v < x_normalized"],
  ["qk_norm", "q_projected k_projected q_normalized k_normalized", "q_normalized < q_projected", "k_normalized < k_projected"],
  ["rotation", "q_normalized k_normalized q k", "q < q_normalized", "k < k_normalized"],
  ["product", "q k product", "elementwise < k q", "product < elementwise"],
  ["scale", "product scaled", "scaled < product"],
  ["bias", "scaled bias biased", "biased < bias scaled"],
  ["mask", "biased mask attn_scores", "attn_scores < biased mask"],
  ...ATTENTION,
  ["add", "x attn_out resid_mid", "resid_mid < attn_out x"],
  norm_2,
  ["feed_forward", "normalized mlp_pre mlp_linear mlp_post mlp_out", "mlp_pre < normalized", "mlp_linear < normalized", "mlp_post < mlp_linear mlp_pre", "mlp_out < mlp_post"],
  ["add_2", "resid_mid mlp_out resid_post", "resid_post < mlp_out resid_mid"],
];

test("pre-norm with rotated, normalized queries, a bias and a gate; both sub-layers may read the same row", () => {
  check(PRE(["norm_2", "resid_mid normalized", "normalized < resid_mid"]));
  check(PRE(["norm_2", "x normalized", "normalized < x"]));
});

test("capped scores, and outputs that are normalized before they are added", () => {
  check([
    ["input", "x"],
    ["projection", "x q k v", "q < x", "k < x", "v < x"],
    ["product", "q k product", "elementwise < k q", "product < elementwise"],
    ["cap", "product capped", "capped < product"],
    ["mask", "capped mask attn_scores", "attn_scores < capped mask"],
    ...ATTENTION.slice(0, -1),
    ["output", "concat attn_projected", "attn_projected < concat"],
    ["output_norm", "attn_projected attn_out", "attn_out < attn_projected"],
    ["add", "x attn_out resid_mid", "resid_mid < attn_out x"],
    ["cross", "resid_mid cross_concat cross_projected cross_out", "cross_concat < resid_mid", "cross_projected < cross_concat", "cross_out < cross_projected"],
    ["feed_forward", "resid_mid mlp_pre mlp_post mlp_projected", "mlp_pre < resid_mid", "mlp_post < mlp_pre", "mlp_projected < mlp_post"],
    ["feed_forward_norm", "mlp_projected mlp_out", "mlp_out < mlp_projected"],
    ["add_2", "resid_mid mlp_out resid_post", "resid_post < mlp_out resid_mid"],
  ]);
});

test("cross-attention makes its keys and values of the memory", () => {
  const view = check([
    ["input", "x memory"],
    ["projection", "x memory q k v", "q < x", "k < memory", "v < memory"],
    ["product", "q k product", "elementwise < k q", "product < elementwise"],
    ["mask", "product mask attn_scores", "attn_scores < mask product"],
    ...ATTENTION,
  ], false);
  assert.equal(view.home.get("x"), view.home.get("memory")); // of one width: one column, the query's above the keys'
  assert.equal(view.home.get("x").rows, "memory");
});

test("in self-attention the keys' own rows stand below the query's", () => {
  const { home } = made(PRE(["norm_2", "resid_mid normalized"]));
  for (const name of ["x", "x_normalized"]) assert.deepEqual([home.get(name).query, home.get(name).rows], [name, name]);
  for (const [query, rows] of [["q", "k"], ["q_projected", "k_projected"], ["q_normalized", "k_normalized"]]) {
    assert.equal(home.get(query), home.get(rows));
  }
});

test("what is new in a stage was in none before it", () => {
  const { header, born } = made(PRE(["norm_2", "resid_mid normalized"]));
  const seen = new Set();
  header.stages.forEach(({ shown, fresh }, index) => {
    for (const name of shown) {
      assert.equal(fresh.includes(name), !seen.has(name), name);
      if (!seen.has(name)) assert.equal(born.get(name), index);
      seen.add(name);
    }
  });
});

test("columns stand apart within the figure", () => {
  const view = made(PRE(["norm_2", "resid_mid normalized"]));
  const { columns, header } = view;
  for (const width of [640, 1000, 1400, 5000]) {
    header.stages.forEach(({ name }, stage) => {
      const boxes = layOut({ ...view, width }, stage);
      assert.equal(boxes.length, columns.length);
      boxes.forEach(({ x, w }, place) => {
        assert.ok(w > 0 && x >= 0 && x + w <= width + 0.01, `${columns[place].id} at ${name}, ${width} px`);
        if (place) assert.ok(x >= boxes[place - 1].x + boxes[place - 1].w + 4.99);
      });
    });
  }
});
