// The tree of a text as a component: what stays and what is made anew when its data changes, and what goes with it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, isWatched, press, setTheme, shown } from "../../../dom.js";
import show from "../../../../../pages/explore/decoding/components/branches/branches.js";

const SCALE = (low, high) => ({ sequential: [[0, low], [0.5, "#808080"], [1, high]], inks: ["#111111", "#eeeeee"] });
const SCALES = { light: SCALE("#ffffff", "#000000"), dark: SCALE("#000000", "#ffffff") };
const node = (id, parent, label, more = {}) => ({
  ...{ id, parent, position: id, label, log: -0.5, p: 0.6, rank: 0, alternatives: 0, kind: "written", score: null, taken: true },
  ...more,
});
const GIVEN = node(0, null, "<bos>", { kind: "given", log: null, p: null, rank: null });
const NODES = [GIVEN, node(1, 0, "le"), node(2, 1, "chat"), node(3, 1, "chien", { p: 0.2, taken: false })];
const END = (id, text) => ({ id, text, total: -3, n_tokens: 2, score: null });
const data = (more = {}) => ({
  ...{ name: "Tree", path: "current branch", nodes: NODES, alternatives: [[["le", 0.6], ["la", 0.3]]], at: 2 },
  ...{ ends: [END(2, "le chat"), END(3, "le chien")], scales: SCALES, deep: 0.5, height: null, ...more },
});
const labels = (component) => component.findAll(".node .word").map(({ textContent }) => textContent);

test("a token that comes is the only one that is made, and a branch that is deleted takes its words and lines along", () => {
  const tree = shown(show, "branches", data());
  const before = tree.findAll(".node");
  tree.update(data({ nodes: [...NODES, node(4, 2, "dort")], ends: [END(4, "le chat dort"), END(3, "le chien")] }));
  before.forEach((one, i) => assert.equal(tree.findAll(".node")[i], one)); // deepEqual takes any two elements for the same
  assert.deepEqual(labels(tree), ["<bos>", "le", "chat", "chien", "dort"]);
  assert.deepEqual(tree.findAll(".end .text").map(({ textContent }) => textContent).toSorted(), ["le chat dort", "le chien"]);
  const gone = before[3];
  tree.update(data({ nodes: NODES.slice(0, 3), ends: [END(2, "le chat")] }));
  assert.deepEqual(labels(tree), ["<bos>", "le", "chat"]);
  assert.deepEqual(tree.findAll(".end .text").map(({ textContent }) => textContent), ["le chat"]);
  assert.equal(tree.findAll("path").length, 2);
  assert.ok(!isWatched(gone) && isWatched(before[2]));
  tree.leave();
});

test("a change of theme paints the tokens and their legend anew", () => {
  const tree = shown(show, "branches", data());
  const fills = () => tree.findAll(".node").map(({ style }) => style.getPropertyValue("--fill"));
  const inks = () => tree.findAll(".node").map(({ style }) => style.getPropertyValue("--ink"));
  const light = fills();
  assert.deepEqual(inks(), ["", "#eeeeee", "#eeeeee", "#111111"]);
  setTheme("dark");
  assert.ok(fills().every((fill, i) => (light[i] === "" ? fill === "" : fill !== light[i])));
  assert.ok(fills()[1].includes("#ffffff"));
  setTheme("light");
  assert.deepEqual(fills(), light);
  tree.leave();
});

test("a token is chosen by Enter and told by its name", () => {
  const tree = shown(show, "branches", data());
  press(tree.findAll(".node")[1], "Enter");
  assert.deepEqual(tree.told, [["node", { id: 1 }]]);
  assert.match(announced(), /le/);
  tree.leave();
});
