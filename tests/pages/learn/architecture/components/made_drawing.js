// Models as the Architecture page sends them, and the component that draws one.

import { place, point, shown } from "../../../dom.js";
import show from "../../../../../pages/learn/architecture/components/drawing/drawing.js";

export const box = (name, kind, more = {}) => ({
  ...{ name, kind, stack: name.includes(".") ? name.split(".")[0] : "", title: `${name.split(".").at(-1)}!`, sub: `${kind} here`, tip: ["a tip", "another"] },
  ...{ hue: kind, heads: 0, mask: "", added: false, small: false, ...more },
});
export const MASK = "1000" + "1100" + "1110" + "0110";

function stack(name, layers, layer, inside, more = {}) {
  const before = [box(`${name}.embed`, "embedding"), box(`${name}.pos`, "positions", { added: true, small: true }), box(`${name}.sum`, "sum", { sub: "" })];
  const whole = box(`${name}.*`, "layer", { title: "Layer", sub: "" });
  return { name, layers, layer, inside, before, after: [], whole, input: `input of ${name}`, text: `text of ${name}`, shape: "7 × 16", ...more };
}

const attention = (name) => box(name, "attention", { heads: 2, mask: MASK });
const three = (start, end) => ["query", "key", "value"].map((flow) => ({ start, end, flow, memory: false }));
export const flow = (start, end, kind = "stream") => ({ start, end, flow: kind, memory: false });
const way = (name) => [flow(`${name}.embed`, `${name}.sum`), flow(`${name}.pos`, `${name}.sum`)];

/** The paper's model: 3 layers of an encoder, 5 of a decoder. */
export function pair(open = { encoder: 1, decoder: 2 }, more = {}) {
  const [e, d] = ["encoder.*", "decoder.*"];
  const encoder = [attention(`${e}.self_attn`), box(`${e}.ln1`, "add_norm"), box(`${e}.mlp`, "feed_forward"), box(`${e}.ln2`, "add_norm")];
  const decoder = [
    ...[attention(`${d}.self_attn`), box(`${d}.ln1`, "add_norm"), attention(`${d}.cross_attn`), box(`${d}.ln_cross`, "add_norm")],
    ...[box(`${d}.mlp`, "feed_forward"), box(`${d}.ln2`, "add_norm")],
  ];
  const arrows = [
    ...[...way("encoder"), ...three("encoder.below", `${e}.self_attn`), flow("encoder.below", `${e}.ln1`, "residual"), flow(`${e}.self_attn`, `${e}.ln1`)],
    ...[flow(`${e}.ln1`, `${e}.mlp`), flow(`${e}.mlp`, `${e}.ln2`), flow(`${e}.ln1`, `${e}.ln2`, "residual")],
    ...[...way("decoder"), ...three("decoder.below", `${d}.self_attn`), flow("decoder.below", `${d}.ln1`, "residual"), flow(`${d}.self_attn`, `${d}.ln1`)],
    ...[flow(`${d}.ln1`, `${d}.cross_attn`, "query"), ...["key", "value"].map((kind) => ({ ...flow("", `${d}.cross_attn`, kind), memory: true }))],
    ...[flow(`${d}.ln1`, `${d}.ln_cross`, "residual"), flow(`${d}.cross_attn`, `${d}.ln_cross`), flow(`${d}.ln_cross`, `${d}.mlp`)],
    ...[flow(`${d}.mlp`, `${d}.ln2`), flow(`${d}.ln_cross`, `${d}.ln2`, "residual"), flow("linear", "softmax")],
  ];
  return {
    ...{ name: "Drawing", stacks: [stack("encoder", 3, open.encoder, encoder), stack("decoder", 5, open.decoder, decoder)], arrows },
    head: [box("linear", "linear", { shape: "9 × 100" }), box("softmax", "softmax", { shape: "" })],
    ...{ output: { name: "probabilities", text: "what it says" }, memory: "memory, 7 × 16", chosen: "decoder.2.mlp", hues: { embedding: "#123456", query: "#654321" } },
    ...more,
  };
}

/** A decoder alone: norms before its parts, positions inside attention, a norm after its 4 layers. */
export function alone(open = 1, more = {}) {
  const d = "decoder.*";
  const inside = [
    ...[box(`${d}.ln1`, "norm"), attention(`${d}.self_attn`), box(`${d}.add1`, "add")],
    ...[box(`${d}.ln2`, "norm"), box(`${d}.mlp`, "feed_forward"), box(`${d}.add2`, "add")],
  ];
  const before = [box("decoder.embed", "embedding"), box("decoder.pos", "positions", { small: true })];
  const arrows = [
    ...[flow("decoder.below", `${d}.ln1`), ...three(`${d}.ln1`, `${d}.self_attn`), flow("decoder.pos", `${d}.self_attn`, "inside")],
    ...[flow(`${d}.self_attn`, `${d}.add1`), flow("decoder.below", `${d}.add1`, "residual"), flow(`${d}.add1`, `${d}.ln2`), flow(`${d}.ln2`, `${d}.mlp`)],
    ...[flow(`${d}.mlp`, `${d}.add2`), flow(`${d}.add1`, `${d}.add2`, "residual"), flow("decoder.ln_final", "linear"), flow("linear", "softmax")],
  ];
  const stacks = [stack("decoder", 4, open, inside, { before, after: [box("decoder.ln_final", "norm")] })];
  return { ...pair(), stacks, arrows, chosen: "decoder.1.mlp", ...more };
}

/** Layers and nothing after them. */
export function bare(open) {
  const data = alone(open, { head: [] });
  data.stacks[0].after = [];
  return data;
}

export const numbers = (text) => text.match(/-?[\d.]+/g).map(Number);
export const rectOf = (node) => {
  const ground = node.querySelector(".ground");
  const [left, top] = node.style.transform ? numbers(node.style.transform) : [0, 0];
  const at = (name) => Number(ground.getAttribute(name));
  if (ground.tagName === "circle") return { x: left - at("r"), y: top - at("r"), w: 2 * at("r"), h: 2 * at("r") };
  return { x: left + at("x"), y: top + at("y"), w: at("width"), h: at("height") };
};

/** As the page sends it: what is chosen, and how far the page had counted its changes then. */
const counted = (data, revision) => ({ ...data, chosen: { revision, value: data.chosen } });

export function made(data) {
  const drawing = shown(show, "drawing", counted(data, 0));
  const update = (newer, revision = 99) => drawing.update(counted(newer, revision));
  const node = (name) => drawing.find(`.node[data-box="${name}"]`);
  const plate = (of, layer) => drawing.find(`.plate[data-stack="${of}"][data-layer="${layer}"]`);
  /** Gives everything the place that it has on the sheet. */
  const lay = () => {
    for (const one of drawing.findAll(".node")) {
      const { x, y, w, h } = rectOf(one);
      for (const part of [one, one.querySelector(".ground"), one.querySelector(".layer")]) {
        if (part) place(part, { left: x, top: y, width: w, height: part.matches(".layer") ? 20 : h });
      }
    }
  };
  lay();
  const arrows = (selector) => drawing.findAll(`.arrow${selector}`).map(({ dataset }) => `${dataset.start} > ${dataset.end}`).toSorted();
  const near = () => drawing.findAll(".near").map(({ dataset }) => dataset.box).toSorted();
  const focus = () => drawing.root.getRootNode().activeElement;
  const tip = () => drawing.find(".tip");
  return { ...drawing, update, node, plate, lay, arrows, near, focus, tip, blocks: drawing.told, isSaid: () => "open" in tip().dataset };
}

export const over = (element) => point(element, "mouseover");
export const pressed = (drawing) => drawing.findAll('[aria-pressed="true"]').map(({ dataset }) => dataset.box);
export const reached = (drawing) => drawing.findAll(".node").filter(({ tabIndex }) => tabIndex === 0).map(({ dataset }) => dataset.box);
export const layersOf = (drawing) => drawing.findAll(".frame .layer").map(({ textContent }) => textContent);
