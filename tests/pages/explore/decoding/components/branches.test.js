// The tree of a text as a component: what stays and what is made again when its data changes, and what goes with it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, areSame, isWatched, place, press, resize, setTheme, shown } from "../../../dom.js";
import { data, END, FORKED, node, NODES } from "./trees.js";
import show from "../../../../../pages/explore/decoding/components/branches/branches.js";

const labels = (component) => component.findAll(".node .word").map(({ textContent }) => textContent);

test("a token that comes is the only one that is made, and a branch that is deleted takes its words and lines along", () => {
  const tree = shown(show, "branches", data());
  const before = tree.findAll(".node");
  tree.update(data({ nodes: [...NODES, node(4, 2, "dort")], ends: [END(4, "le chat dort"), END(3, "le chien")] }));
  before.forEach((one, i) => assert.equal(tree.findAll(".node")[i], one)); // deepEqual takes any two elements for the same
  assert.deepEqual(labels(tree), ["<bos>", "le", "chat", "chien", "dort"]);
  assert.ok(areSame(tree.findAll(".end .text").map(({ textContent }) => textContent).toSorted(), ["le chat dort", "le chien"]));
  const gone = before[3];
  tree.update(data({ nodes: NODES.slice(0, 3), ends: [END(2, "le chat")] }));
  assert.deepEqual(labels(tree), ["<bos>", "le", "chat"]);
  assert.ok(areSame(tree.findAll(".end .text").map(({ textContent }) => textContent), ["le chat"]));
  assert.equal(tree.findAll("path").length, 2);
  assert.ok(!isWatched(gone) && isWatched(before[2]));
});

test("a change of theme paints the tokens and their legend again", () => {
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
});

test("a token is chosen by Enter and told by its name", () => {
  const tree = shown(show, "branches", data());
  press(tree.findAll(".node")[1], "Enter");
  assert.deepEqual(tree.told, [["node", { id: 1 }]]);
  assert.match(announced(), /le/);
});

const at = ({ style }) => style.transform.match(/translate\((-?[\d.]+)px, (-?[\d.]+)px\)/).slice(1).map(Number);
function boxOf(part) {
  const [left, top] = at(part);
  return { left, top, right: left + part.offsetWidth, bottom: top + part.offsetHeight, middle: top + part.offsetHeight / 2 };
}
const byId = (tree, id) => tree.find(`.node[data-id="${id}"]`);
const sizeOf = ({ style }) => [parseFloat(style.width), parseFloat(style.height)];

/** Columns stand side by side, nothing lies on anything, lines lead from token to token, and all is within the field. */
function isInOrder(tree, nodes) {
  const depth = new Map();
  for (const { id, parent } of nodes) depth.set(id, parent === null ? 0 : depth.get(parent) + 1);
  const boxes = new Map(nodes.map(({ id }) => [id, boxOf(byId(tree, id))]));
  for (const { id } of nodes) {
    for (const { id: other } of nodes) {
      if (depth.get(id) === depth.get(other)) assert.equal(boxes.get(id).left, boxes.get(other).left);
      if (depth.get(id) < depth.get(other)) assert.ok(boxes.get(id).right + 20 < boxes.get(other).left, `${id} before ${other}`);
    }
  }
  const all = [...boxes.values(), ...tree.findAll(".end").map(boxOf)];
  all.forEach((one, i) => {
    for (const other of all.slice(0, i)) {
      const isApart = one.left >= other.right || other.left >= one.right || one.top >= other.bottom || other.top >= one.bottom;
      assert.ok(isApart, JSON.stringify([one, other]));
    }
  });
  const [width, height] = sizeOf(tree.find(".field"));
  assert.deepEqual(sizeOf(tree.find("svg")), [width, height]);
  for (const { left, top, right, bottom } of all) assert.ok(left > 0 && top > 0 && right < width && bottom < height);
  assert.ok(width - Math.max(...all.map(({ right }) => right)) < 20);
  const lines = new Set(tree.findAll("path").map((line) => {
    const [, x, y] = line.getAttribute("d").match(/^M([\d.]+) ([\d.]+)H/);
    const [, end] = line.getAttribute("d").match(/H([\d.]+)$/);
    const last = line.getAttribute("d").match(/ ([\d.]+)H[\d.]+$/)[1];
    return [x, y, end, last].join(" ");
  }));
  for (const { id, parent } of nodes.slice(1)) {
    const [from, to] = [boxes.get(parent), boxes.get(id)];
    const line = [from.right, from.middle, to.left, to.middle].join(" ");
    assert.ok(lines.has(line), `${line} in ${[...lines]}`);
  }
}

test("columns are as wide as their widest token, lanes as high as they must, and lines lead from token to token", () => {
  const ends = [END(4, "b c d e"), END(6, "b c f g"), END(8, "b h i"), END(9, "b h j and more")];
  const tree = shown(show, "branches", data({ nodes: FORKED, at: 4, ends }));
  const sizes = [[31, 20], [44, 22], [70, 20], [25, 24], [90, 20], [55, 26], [61, 20], [37, 20], [120, 20], [48, 20]];
  FORKED.forEach(({ id }, i) => place(byId(tree, id), { width: sizes[i][0], height: sizes[i][1] }));
  tree.findAll(".end").forEach((end, i) => place(end, { width: 100 + 30 * i, height: 40 }));
  resize(byId(tree, 2), 70, 20);
  isInOrder(tree, FORKED);
  const lanes = FORKED.map(({ id }) => boxOf(byId(tree, id)).middle);
  assert.deepEqual([...new Set(lanes)].length, 4);
  assert.ok(lanes[4] < lanes[5] && lanes[6] < lanes[7] && lanes[8] < lanes[9]);
  for (const [id, end] of ends.map((end, i) => [end.id, tree.findAll(".end")[i]])) {
    const gap = boxOf(end).left - boxOf(byId(tree, id)).right;
    assert.ok(gap > 4 && gap < 20, `${gap} px between the last token and its words`);
    assert.ok(Math.abs(boxOf(end).middle - boxOf(byId(tree, id)).middle) < 6);
  }
  resize(byId(tree, 8), 300, 20); // as when its font comes late
  isInOrder(tree, FORKED);
  tree.update(data({ nodes: FORKED.slice(0, 7), at: 4, ends: ends.slice(0, 1) }));
  isInOrder(tree, FORKED.slice(0, 7));
  tree.update(data({ nodes: FORKED, at: 4, ends: ends.slice(3) })); // now the last lane is the highest one
  place(byId(tree, 9), { width: 48, height: 44 });
  place(tree.find(".end"), { width: 100, height: 40 });
  resize(byId(tree, 8), 30, 20);
  isInOrder(tree, FORKED);
});

test("the Tab key comes to the selected token, also where the one that had the focus was deleted", () => {
  const stops = (tree) => tree.findAll(':is(button, .end):not([tabindex="-1"], .end:not([tabindex]))').map(({ dataset }) => dataset.id);
  const tree = shown(show, "branches", data());
  assert.deepEqual(stops(tree), ["2"]);
  press(byId(tree, 2), "ArrowDown");
  assert.deepEqual(stops(tree), ["3"]);
  tree.update(data({ at: 1 }));
  assert.deepEqual(stops(tree), ["3"], "the focus stays where a person has it");
  tree.update(data({ at: 1, nodes: NODES.slice(0, 3), ends: [] }));
  assert.deepEqual(stops(tree), ["1"]);
});

test("a tree that is not seen yet is drawn when it gets its room", () => {
  const tree = shown(show, "branches", data(), { size: [0, 0] });
  assert.equal(byId(tree, 1).style.transform, "");
  place(tree.root, { width: 500, height: 300 });
  resize(tree.find(".scroller"), 500, 100);
  isInOrder(tree, NODES);
});

test("a token that changes is written again, with its words at the end", () => {
  const tree = shown(show, "branches", data());
  assert.ok(areSame(tree.findAll('[aria-current="true"] .word').map(({ textContent }) => textContent), ["chat"]));
  const nodes = [...NODES.slice(0, 2), { ...NODES[2], taken: false }, { ...NODES[3], label: "chienne", kind: "forced", p: 0.9, taken: true }];
  tree.update(data({ nodes, at: 3, ends: [END(3, "le chienne", { total: -4 })] }));
  assert.deepEqual(labels(tree), ["<bos>", "le", "chat", "chienne"]);
  assert.ok(byId(tree, 3).classList.contains("forced") && !byId(tree, 3).classList.contains("written"));
  assert.ok(areSame(tree.findAll('[aria-current="true"] .word').map(({ textContent }) => textContent), ["chienne"]));
  const end = tree.find(".end");
  assert.ok(end.classList.contains("taken"));
  assert.equal(end.querySelector(".text").textContent, "le chienne");
  assert.match(byId(tree, 3).getAttribute("aria-label"), /'chienne'.*forced.*le chienne/);
  tree.update(data({ nodes: [...nodes, node(4, 3, "!")], ends: [] }));
  assert.doesNotMatch(byId(tree, 3).getAttribute("aria-label"), /end of the branch/);
  assert.equal(tree.find(".end"), null);
});
