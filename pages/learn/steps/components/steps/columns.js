// The figure's columns, from left to right as the numbers flow, and how wide each is at each stage.
//
// A column holds what its stage makes: of the chosen query a strip above (`query`), of every key a strip, a cell or a
// bar in its row (`rows`), below the rows what they add up to (`foot`), or one upright vector of the query (`full`).

import { PRODUCT, WEIGHTED } from "./numbers.js";

export const NARROWEST = 480; // px, of the figure, which scrolls where it has less room
export const PARTS = ["query", "rows", "foot", "full"];
const WIDTHS = { // px: where there is no room, where it is not looked at, where it is, and where there is room left
  tokens: [60, 84, 84, 130],
  strip: [16, 40, 128, 230],
  cell: [13, 22, 54, 66],
  bar: [22, 40, 110, 170],
  full: [9, 15, 30, 40],
};
const GAPS = [5, 10, 34, 46]; // px, in front of a column
export const LANE = 30; // px from the top: the query's own strips, below the columns' names
export const STRIP = 24; // px: how high the query's strips are
export const FAN = 40; // px between the query's strips and the rows of keys
export const HEAD_GAP = 3; // px between the heads of a vector
const PITCH = [14, 28]; // px, from one key to the next
const ROWS = 360; // px that the rows of keys take where they can
const FOOT = 34; // px between the rows and what they add up to
const BELOW = 12; // px
const EDGE = 4; // px that stay free on the right

export function makeColumns({ header, quantities }) {
  const columns = [{ id: "tokens", kind: "tokens", stage: 0 }];
  const home = new Map(); // of a quantity: its column
  const put = (column, name) => {
    columns.push(column);
    home.set(name, column);
  };
  const after = (name) => header.stages.findIndex((stage) => stage.name === name);
  const [atProduct, atWeigh] = [after("product"), after("weigh")];
  header.stages.forEach((stage, index) => {
    if (index === atProduct) put({ id: PRODUCT, kind: "strip", stage: index, rows: PRODUCT }, PRODUCT);
    if (index === atWeigh) put({ id: WEIGHTED, kind: "strip", stage: index, rows: WEIGHTED }, WEIGHTED);
    for (const name of stage.matrices) {
      if (home.has(name) || !quantities.has(name)) continue;
      const { rows, columns: across, width } = quantities.get(name);
      if (across === "key") {
        put({ id: name, kind: name === "pattern" ? "bar" : "cell", stage: index, rows: name }, name);
      } else if (rows === "key") {
        const isPartner = (column) =>
          column.stage === index && column.query && !column.rows && quantities.get(column.query).width === width;
        const partner = columns.find(isPartner);
        if (partner) home.set(name, Object.assign(partner, { rows: name }));
        else put({ id: name, kind: "strip", stage: index, rows: name }, name);
      } else if (index < atProduct) {
        const isOfKeysToo = header.isSelf && across === "d_model";
        put({ id: name, kind: "strip", stage: index, query: name, rows: isOfKeysToo ? name : undefined }, name);
      } else if (name === "z") {
        home.set(name, Object.assign(home.get(WEIGHTED), { foot: name }));
      } else put({ id: name, kind: "full", stage: index, full: name }, name);
    }
  });
  const values = home.get("v"); // which wait for their weights
  columns.splice(columns.indexOf(values), 1);
  columns.splice(columns.indexOf(home.get(WEIGHTED)), 0, values);
  return { columns, home };
}

export function layOut(view, stageIndex) {
  // Where every column is while a stage is shown: [{ x, w }], and how high everything is.
  const { columns, header, width } = view;
  const { shown } = header.stages[stageIndex];
  const isSeen = columns.map((column) => column.kind === "tokens" || PARTS.some((part) => shown.has(column[part])));
  const sizes = columns.map((column) => WIDTHS[column.kind][0]);
  const gaps = columns.map((_, place) => (place ? GAPS[0] : 0));
  let room = width - EDGE - sizes.reduce((sum, size) => sum + size, 0) - gaps.reduce((sum, gap) => sum + gap, 0);
  const grow = (of, most) => {
    const wanted = of.map((size, place) => Math.max(0, most(place) - size));
    const all = wanted.reduce((sum, size) => sum + size, 0);
    const share = all ? Math.min(1, Math.max(0, room) / all) : 0;
    wanted.forEach((size, place) => (of[place] += size * share));
    room -= all * share;
  };
  const kindOf = (place) => WIDTHS[columns[place].kind];
  grow(sizes, (place) => (isSeen[place] ? kindOf(place)[2] : 0));
  grow(gaps, (place) => (place && isSeen[place] ? GAPS[2] : 0));
  grow(sizes, (place) => (isSeen[place] ? 0 : kindOf(place)[1]));
  grow(gaps, (place) => (place ? GAPS[isSeen[place] ? 2 : 1] : 0));
  grow(sizes, (place) => (isSeen[place] ? kindOf(place)[3] : 0));
  grow(gaps, (place) => (place ? GAPS[3] : 0));
  let x = Math.max(0, room) / 2;
  return columns.map((_, place) => {
    x += gaps[place];
    const box = { x, w: sizes[place] };
    x += sizes[place];
    return box;
  });
}

export function heights({ header }) {
  const n = header.key.length;
  const pitch = Math.min(Math.max(Math.floor(ROWS / n), PITCH[0]), PITCH[1]);
  const top = LANE + STRIP + FAN;
  const foot = top + Math.max(n * pitch, 120) + FOOT;
  return { n, pitch, top, foot, row: Math.min(pitch - 3, 20), bottom: foot + STRIP, height: foot + STRIP + BELOW };
}

export function rectOf(view, part, box, row = 0) {
  const { lines } = view;
  if (part === "query") return { x: box.x, y: LANE, w: box.w, h: STRIP };
  if (part === "foot") return { x: box.x, y: lines.foot, w: box.w, h: STRIP };
  if (part === "full") return { x: box.x, y: LANE, w: box.w, h: lines.bottom - LANE };
  return { x: box.x, y: lines.top + row * lines.pitch + (lines.pitch - lines.row) / 2, w: box.w, h: lines.row };
}

/** The part of a vector that is one head's. */
export function slotOf(rect, head, n) {
  const h = (rect.h - HEAD_GAP * (n - 1)) / n;
  return { x: rect.x, y: rect.y + head * (h + HEAD_GAP), w: rect.w, h };
}

export function between(one, other, share) {
  return Object.fromEntries(Object.keys(one).map((name) => [name, one[name] + (other[name] - one[name]) * share]));
}
