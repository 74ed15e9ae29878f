// Where everything on the drawing of a model lies: boxes, plates and frames, from the bottom to the top, as in figure 1
// of "Attention Is All You Need". All in px of the drawing; y grows upwards here, and `arrange` turns it over at the end.

export const WIDE = 196; // a box
const LANE = 30; // between a box and its frame, on the side of the residual arcs
const MARGIN = 18; // on the other side
const OUTSIDE = 44; // beside a frame, for how many layers there are
export const GAP = 66; // between two stacks, for the memory
const FRAME = LANE + WIDE + MARGIN;
const PILL = 124; // parts beside the stream
const RADIUS = 11; // of a sum
const HIGH = { attention: 48, feed_forward: 42, embedding: 44, projection: 42, linear: 42, softmax: 30, transform: 28 };
const ROW = 28; // every other box
const FAN = 36; // below an attention: the stream parts into queries, keys and values
const STEP = 22; // between other boxes
const CLOSE = 9; // between a sub-layer and its sum
const PLATES = 190; // all plates of a stack at most

export function arrange(data, layers) {
  // layers: the open layer of each stack, by its name. Gives items by name, plates, frames and labels, and the size.
  /** @type {Record<"plates" | "frames" | "labels", {y: number}[]>} */
  const drawn = { plates: [], frames: [], labels: [] };
  const plan = { items: new Map(), junctions: new Map(), ...drawn };
  const isPair = data.stacks.length > 1;
  let left = isPair ? OUTSIDE : OUTSIDE + 6;
  let height = 0;
  data.stacks.forEach((stack, i) => {
    const side = isPair && i === 0 ? -1 : 1; // of the residual arcs, and of all that stands outside
    const frame = { left, right: left + FRAME };
    const x = side < 0 ? left + LANE + WIDE / 2 : left + MARGIN + WIDE / 2;
    const top = raise({ plan, data, stack, side, frame, x, open: layers[stack.name], isLast: i === data.stacks.length - 1 });
    height = Math.max(height, top);
    left += FRAME + GAP;
  });
  const width = left - GAP + OUTSIDE + 2;
  for (const item of plan.items.values()) item.y = height - item.y;
  for (const part of [...plan.plates, ...plan.frames, ...plan.labels]) part.y = height - part.y;
  return { ...plan, width, height };
}

function raise({ plan, data, stack, side, frame, x, open, isLast }) {
  // Builds one stack from the bottom; gives how high it is. An item's y is that of its middle.
  let y = 4;
  const where = { stack: stack.name, side, x, frame };
  const put = (box, height, more = {}) => {
    plan.items.set(box.name, { box, ...where, y: y + height / 2, width: WIDE, height, ...more });
    y += height;
  };
  const label = (part) => plan.labels.push({ x, y, ...part });

  label({ text: stack.text, kind: "text" });
  y += 17;
  label({ text: stack.input, kind: "name" });
  y += 12 + 20;
  for (const box of stack.before) {
    if (box.kind === "sum") {
      y += 18;
      put(box, 2 * RADIUS, { width: 2 * RADIUS, round: true });
    } else if (box.kind === "embedding") {
      put(box, HIGH.embedding);
    } else if (box.kind === "norm" || box.kind === "projection") {
      y += STEP;
      put(box, HIGH[box.kind] ?? ROW);
    }
  }
  const sum = plan.items.get(`${stack.name}.sum`);
  const inside = stack.before.find(({ kind, added }) => kind === "positions" && !added);
  if (inside) y += 14;
  const beside = (box, to, level) =>
    plan.items.set(box.name, { box, ...where, x: x + to * (RADIUS + 20 + PILL / 2), y: level, width: PILL, height: 40, pill: to });
  if (inside) beside(inside, -side, y + 18);
  for (const box of stack.before) {
    if (box.kind === "positions" && box.added) beside(box, side, sum.y);
    if (box.kind === "segments") beside(box, -side, sum.y);
  }
  y += inside ? 46 : 30;
  label({ text: stack.shape, kind: "shape", x: x + side * 8, y: y - 13, anchor: side < 0 ? "end" : "start" });

  const others = stack.layers - 1;
  const pitch = others ? Math.min(24, PLATES / others) : 0;
  const plate = (layer) => {
    const high = Math.max(2, pitch - Math.min(4, pitch / 3));
    plan.plates.push({ ...where, layer, y: y + high / 2, height: high, isNamed: pitch >= 15 });
    y += pitch;
  };
  for (let layer = 0; layer < open; layer += 1) plate(layer);
  if (open) y += 10;
  const bottom = y;
  y += 30;
  stackUp(plan, stack, { put, rise: (by) => (y += by), at: () => y });
  y += 24;
  plan.frames.push({ ...where, stack: stack.name, layer: open, layers: stack.layers, y: (bottom + y) / 2, height: y - bottom });
  y += open < stack.layers - 1 ? 10 : 0;
  for (let layer = open + 1; layer < stack.layers; layer += 1) plate(layer);

  for (const box of stack.after) {
    y += STEP;
    put(box, ROW);
  }
  if (!isLast) return y + 30;
  for (const [i, box] of data.head.entries()) {
    y += i ? STEP : STEP + 6;
    put(box, HIGH[box.kind] ?? ROW);
    if (box.shape) label({ text: box.shape, kind: "shape", x: x + 9, y: y + 7, anchor: "start" });
  }
  y += 26;
  label({ text: data.output.name, kind: "name" });
  y += 17;
  label({ text: data.output.text, kind: "text" });
  return y + 12;
}

function stackUp(plan, stack, { put, rise, at }) {
  // The boxes of the open layer, each as far above the one before it as its arrows need.
  stack.inside.forEach((box, i) => {
    const former = stack.inside[i - 1]?.kind;
    if (box.kind === "add") {
      rise(16);
      put(box, 2 * RADIUS, { width: 2 * RADIUS, round: true });
    } else if (box.kind === "add_norm") {
      rise(CLOSE);
      put(box, ROW);
    } else {
      const apart = box.kind === "attention" ? FAN : STEP;
      // Where the stream goes around what comes next, there is room for its junction.
      const isRead = former !== "norm" && !box.name.endsWith(".out_norm");
      rise(i ? apart + (isRead ? 12 : 0) : box.kind === "attention" ? FAN - 14 : 0);
      plan.junctions.set(box.name, at() - apart);
      put(box, HIGH[box.kind] ?? ROW);
    }
  });
}
