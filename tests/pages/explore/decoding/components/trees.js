// Trees for tests of the component that draws them.

const SCALE = (low, high) => ({ sequential: [[0, low], [0.5, "#808080"], [1, high]], inks: ["#111111", "#eeeeee"] });
export const SCALES = { light: SCALE("#ffffff", "#000000"), dark: SCALE("#000000", "#ffffff") };

export const node = (id, parent, label, more = {}) => ({
  ...{ id, parent, position: id, label, log: -0.5, p: 0.6, rank: 0, alternatives: 0, kind: "written", score: null, taken: true },
  ...more,
});

const GIVEN = node(0, null, "<bos>", { kind: "given", log: null, p: null, rank: null });
export const NODES = [GIVEN, node(1, 0, "le"), node(2, 1, "chat"), node(3, 1, "chien", { p: 0.2, taken: false })];
export const END = (id, text, more = {}) => ({ id, text, total: -3, n_tokens: 2, score: null, ...more });

export const data = (more = {}) => ({
  ...{ name: "Tree", path: "current branch", nodes: NODES, alternatives: [[["le", 0.6], ["la", 0.3]]], at: 2 },
  ...{ ends: [END(2, "le chat"), END(3, "le chien")], scales: SCALES, deep: 0.5, height: null, ...more },
});

/** Two forks off the path and one off a fork: labels are "a" to "j", with ids from 0 on, in lanes 0, 1, 2 and 3. */
export const FORKED = [
  ...[GIVEN, node(1, 0, "b"), node(2, 1, "c"), node(3, 2, "d"), node(4, 3, "e")],
  ...[node(5, 2, "f", { taken: false }), node(6, 5, "g", { taken: false })], // beside d and e
  ...[node(7, 1, "h", { taken: false }), node(8, 7, "i", { taken: false })], // beside c and d
  node(9, 7, "j", { taken: false }), // beside d
];
