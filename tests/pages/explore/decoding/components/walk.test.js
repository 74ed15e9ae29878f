// Walking in a tree by keys, the box beside what is pointed at, and that the selected token stays in sight.

import assert from "node:assert/strict";
import { test } from "node:test";

import { areSame, place, point, press, resize, shown } from "../../../dom.js";
import { data, END, FORKED, node, NODES } from "./trees.js";
import show from "../../../../../pages/explore/decoding/components/branches/branches.js";

const tipOf = (tree) => tree.root.querySelector(".tip");
const isOpen = (tree) => tipOf(tree).matches(":popover-open");
const byId = (tree, id) => tree.find(`.node[data-id="${id}"]`);
const focused = (tree) => tree.root.getRootNode().activeElement;
const forked = (more = {}) => data({ nodes: FORKED, at: 4, ends: [END(4, "bcde"), END(6, "bcfg")], ...more });

test("keys walk along a branch, on the path where it goes, and between branches to the nearest token", () => {
  const tree = shown(show, "branches", forked());
  const ways = [
    [3, "ArrowLeft", 2], [3, "ArrowRight", 4], [4, "ArrowRight", 4], [0, "ArrowLeft", 0], [6, "Home", 0], [1, "End", 4],
    [5, "ArrowRight", 6], [7, "ArrowRight", 8], [7, "End", 8], [5, "End", 6], [9, "End", 9],
    [3, "ArrowDown", 5], [5, "ArrowDown", 8], [8, "ArrowUp", 5], [8, "ArrowDown", 9], [9, "ArrowUp", 8], [9, "ArrowDown", 9],
    [7, "ArrowUp", 2], [1, "ArrowDown", 7], [4, "ArrowDown", 6], [6, "ArrowDown", 8], [0, "ArrowUp", 0],
  ];
  for (const [from, key, to] of ways) {
    const event = press(byId(tree, from), key);
    assert.equal(focused(tree), byId(tree, to), `${key} from ${from}`);
    assert.ok(event.defaultPrevented, `${key} does not scroll the page`);
    assert.ok(areSame(tree.findAll('button:not([tabindex="-1"])'), [byId(tree, to)]));
  }
  assert.ok(!press(byId(tree, 3), "PageDown").defaultPrevented);
  assert.deepEqual(tree.told, []);
  const other = FORKED.map((one) => ({ ...one, taken: ![2, 3, 4].includes(one.id) }));
  tree.update(forked({ nodes: other }));
  press(byId(tree, 1), "ArrowRight");
  assert.equal(focused(tree), byId(tree, 7), "the path goes by the second child now");
});

test("the box beside a token says what else could have stood there, and goes with the pointer, the focus or Escape", () => {
  const alternatives = [[], [["x", 0.4], ["chat", 0.2], ["y", 0.00003]]];
  const nodes = [...NODES.slice(0, 2), { ...NODES[2], p: 0.2, log: -1.609, rank: 1, alternatives: 1, score: -2.5 }, NODES[3]];
  const tree = shown(show, "branches", data({ nodes, alternatives }));
  assert.ok(!isOpen(tree));
  point(byId(tree, 2).querySelector(".word"), "mouseover");
  assert.ok(isOpen(tree));
  const others = tree.findAll(".other").map((line) => line.textContent);
  assert.deepEqual(others, ["x0.40", "chat0.20", "y<0.0001"]);
  assert.ok(areSame(tree.findAll(".other").map((line) => line.classList.contains("own")), [false, true, false]));
  const tip = tipOf(tree).textContent;
  assert.ok(tip.includes("probability 0.20, 1 token is more") && tip.includes("beam score −2.50"), tip);
  point(byId(tree, 0), "mouseover");
  point(tree.find(".field"), "mouseleave");
  assert.ok(!isOpen(tree));
  press(byId(tree, 1), "ArrowRight");
  assert.ok(isOpen(tree) && tipOf(tree).textContent.includes("chat"));
  press(byId(tree, 2), "Escape");
  assert.ok(!isOpen(tree));
  press(byId(tree, 2), "ArrowLeft");
  assert.ok(isOpen(tree) && tipOf(tree).textContent.includes("le"));
  focused(tree).blur();
  assert.ok(!isOpen(tree));
});

test("the words at the end of a branch have a box, too, and lead to its last token", () => {
  const tree = shown(show, "branches", data({ ends: [END(2, "le chat"), END(3, "le chien", { total: -6, n_tokens: 3, score: -1.5 })] }));
  const [, end] = tree.findAll(".end");
  point(end.querySelector(".text"), "mouseover");
  assert.ok(isOpen(tree));
  assert.match(tipOf(tree).textContent, /^le chien3 tokens: −6\.00 nats · −2\.00 per token · score −1\.50$/);
  point(byId(tree, 3), "mouseover"); // of the same item, but another box
  assert.match(tipOf(tree).textContent, /^chien/);
  end.click();
  assert.deepEqual(tree.told, [["node", { id: 3 }]]);
});

test("the selected token is scrolled to when it changes, with room around it, and not when a size changes", () => {
  const nodes = [NODES[0], ...Array.from({ length: 40 }, (_, i) => node(i + 1, i, `word${i}`)), ...Array.from({ length: 12 }, (_, i) => node(i + 50, 0, `fork${i}`))];
  const tree = shown(show, "branches", data({ nodes, at: 0, ends: [] }));
  const scroller = tree.find(".scroller");
  place(scroller, { width: 500, height: 150 });
  const isInSight = (id) => {
    const [x, y] = byId(tree, id).style.transform.match(/[\d.]+/g).map(Number);
    const [left, top] = [x - scroller.scrollLeft, y - scroller.scrollTop];
    return left >= Math.min(x, 50) && left + byId(tree, id).offsetWidth <= 400 && top >= 4 && top + 20 <= 146;
  };
  for (const id of [30, 61, 55, 40, 20, 18]) {
    tree.update(data({ nodes, at: id, ends: [] }));
    assert.ok(isInSight(id), `${id} at ${scroller.scrollLeft}, ${scroller.scrollTop}`);
  }
  const before = [scroller.scrollLeft, scroller.scrollTop];
  tree.update(data({ nodes, at: 19, ends: [] })); // in sight, so that nothing moves
  assert.deepEqual([scroller.scrollLeft, scroller.scrollTop], before);
  scroller.scrollLeft = 7;
  resize(byId(tree, 3), 90);
  tree.update(data({ nodes: [...nodes, node(90, 40, "!")], at: 19, ends: [] }));
  assert.equal(scroller.scrollLeft, 7);
});
