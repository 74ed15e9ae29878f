// Where the tokens of a tree stand: a column a token of a path, a lane a branch.
//
// The first child of a node continues in its lane; the others begin lanes below it. Forks are placed from the last one of
// a branch to its first, each as near below it as is free, so that no two lines cross and short branches share lanes.

const CORNER = 7; // px, the radius of a line's bends
const BEND = 11; // px, from a bend to the token that the line leads to

export function arrangeTree(nodes, ends) {
  // nodes: each after its parent. ends: the ids of leaves whose words take all the room to their right.
  const children = new Map(nodes.map(({ id }) => [id, []]));
  const columns = new Map();
  for (const { id, parent } of nodes) {
    children.get(parent)?.push(id);
    columns.set(id, parent === null ? 0 : columns.get(parent) + 1);
  }
  const nColumns = Math.max(...columns.values()) + 1;
  const lanes = new Map();
  const whole = branchFrom({ children, columns, nColumns, ends }, nodes[0].id);
  setLanes(whole, 0, lanes);
  return { children, columns, lanes, nColumns, nLanes: Math.max(...lanes.values()) + 1 };
}

function branchFrom(tree, first) {
  // A branch in lane 0 with all that parts from it, and the lanes, from `top` to `bottom`, that it takes in each column.
  const { children, columns, nColumns, ends } = tree;
  /** @type {{chain: number[], forks: object[], top: number[], bottom: number[]}} */
  const branch = { chain: [first], forks: [], top: [], bottom: [] };
  for (let next = first; (next = children.get(next)[0]) !== undefined; ) branch.chain.push(next);
  const start = columns.get(first);
  const stop = ends.has(branch.chain.at(-1)) ? nColumns : start + branch.chain.length;
  for (let column = start; column < stop; column++) branch.top[column] = branch.bottom[column] = 0;
  for (const id of [...branch.chain].reverse()) {
    for (const child of children.get(id).slice(1)) putBelow(branch, branchFrom(tree, child));
  }
  return branch;
}

function putBelow(branch, fork) {
  let lane = 1;
  fork.top.forEach((top, column) => {
    if (column in branch.bottom) lane = Math.max(lane, branch.bottom[column] + 1 - top);
  });
  fork.top.forEach((top, column) => {
    branch.top[column] = Math.min(branch.top[column] ?? Infinity, top + lane);
    branch.bottom[column] = Math.max(branch.bottom[column] ?? 0, fork.bottom[column] + lane);
  });
  branch.forks.push({ fork, lane });
}

function setLanes({ chain, forks }, lane, lanes) {
  for (const id of chain) lanes.set(id, lane);
  for (const { fork, lane: below } of forks) setLanes(fork, lane + below, lanes);
}

export function linePath(from, to) {
  // From the end of a token to the start of the next one; lines that leave a column together bend in one place.
  if (from.y === to.y) return `M${from.x} ${from.y}H${to.x}`;
  const corner = Math.min(CORNER, Math.abs(to.y - from.y) / 2);
  const middle = to.x - BEND;
  const down = Math.sign(to.y - from.y) * corner;
  return (
    `M${from.x} ${from.y}H${middle - corner}Q${middle} ${from.y} ${middle} ${from.y + down}` +
    `V${to.y - down}Q${middle} ${to.y} ${middle + corner} ${to.y}H${to.x}`
  );
}
