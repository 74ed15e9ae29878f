// Where the tokens of a tree stand: no two share a place, and no two lines cross.

import assert from "node:assert/strict";
import { test } from "node:test";

import { arrangeTree } from "../../../../../pages/explore/decoding/components/branches/lanes.js";

function grown(seed, n) {
  // A random tree: each node after its parent.
  let state = seed;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const nodes = [{ id: 0, parent: null }];
  for (let id = 1; id < n; id++) nodes.push({ id, parent: random() < 0.6 ? id - 1 : Math.floor(random() * id) });
  return nodes;
}

test("a fork begins below, and short branches share a lane", () => {
  const nodes = [0, 1, 2, 3, 4, 5].map((id) => ({ id, parent: id ? id - 1 : null }));
  nodes.push({ id: 6, parent: 4 }, { id: 7, parent: 0 });
  const { lanes } = arrangeTree(nodes, new Set());
  assert.deepEqual([0, 1, 2, 3, 4, 5].map((id) => lanes.get(id)), [0, 0, 0, 0, 0, 0]);
  assert.deepEqual([lanes.get(6), lanes.get(7)], [1, 1]); // at column 5 and at column 1
});

test("in random trees no two tokens and no line to a fork meet", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const nodes = grown(seed, 40);
    const parents = new Map(nodes.map(({ id, parent }) => [id, parent]));
    const isLeaf = ({ id }) => !nodes.some(({ parent }) => parent === id);
    const ends = new Set(nodes.filter(isLeaf).filter(({ id }) => id % 2).map(({ id }) => id));
    const { columns, lanes, nColumns, nLanes } = arrangeTree(nodes, ends);
    const taken = new Map();
    const take = (lane, column, id) => {
      assert.equal(taken.get(`${lane} ${column}`), undefined, `seed ${seed}: ${id} meets another`);
      taken.set(`${lane} ${column}`, id);
    };
    for (const { id, parent } of nodes) {
      assert.equal(columns.get(id), parent === null ? 0 : columns.get(parent) + 1);
      assert.ok(lanes.get(id) < nLanes && columns.get(id) < nColumns);
      take(lanes.get(id), columns.get(id), id);
    }
    for (const id of ends) for (let column = columns.get(id) + 1; column < nColumns; column++) take(lanes.get(id), column, id);
    for (const { id } of nodes) {
      const parent = parents.get(id);
      if (parent === null || lanes.get(parent) === lanes.get(id)) continue;
      assert.ok(lanes.get(id) > lanes.get(parent), "a fork lies below");
      for (let lane = lanes.get(parent) + 1; lane < lanes.get(id); lane++) {
        const between = taken.get(`${lane} ${columns.get(id)}`);
        const isSibling = between !== undefined && parents.get(between) === parent;
        assert.ok(between === undefined || isSibling, `seed ${seed}: the line to ${id} crosses ${between}`);
      }
    }
  }
});
