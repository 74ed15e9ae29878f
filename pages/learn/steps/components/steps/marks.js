// Which number lies at a point of the figure, and where a number is drawn.

import { HEAD_GAP, rectOf, slotOf } from "./columns.js";
import { partOf } from "./links.js";

function isIn({ x, y, w, h }, px, py) {
  return px >= x && px < x + w && py >= y - 1 && py < y + h + 1;
}

export function markAt(view, px, py) {
  const { columns, boxes, quantities, query, lines, header } = view;
  for (const [place, column] of columns.entries()) {
    const box = boxes?.[place];
    if (!box || px < box.x || px >= box.x + box.w) continue;
    const across = (name) => {
      const { width } = quantities.get(name);
      return Math.min(Math.floor(((px - box.x) / box.w) * width), width - 1);
    };
    if (column.query && isIn(rectOf(view, "query", box), px, py)) {
      return { name: column.query, row: query, column: across(column.query) };
    }
    if (column.foot && isIn(rectOf(view, "foot", box), px, py)) {
      return { name: column.foot, row: query, column: across(column.foot) };
    }
    const row = Math.floor((py - lines.top) / lines.pitch);
    if (column.rows && row >= 0 && row < lines.n) {
      if (column.kind === "strip") return { name: column.rows, row, column: across(column.rows) };
      return { name: column.rows, row: query, column: row };
    }
    if (column.full) return uprightAt(quantities.get(column.full), rectOf(view, "full", box), py, query, header);
  }
  return null;
}

function uprightAt({ name, columns, width }, rect, py, row, { nHeads, dHead }) {
  const away = py - rect.y;
  if (away < 0 || away >= rect.h) return null;
  if (columns !== "head d_head") return { name, row, column: Math.floor((away / rect.h) * width) };
  const slot = slotOf(rect, 0, nHeads).h;
  const head = Math.min(Math.floor(away / (slot + HEAD_GAP)), nHeads - 1);
  const within = Math.min((away - head * (slot + HEAD_GAP)) / slot, 0.999);
  return { name, row, column: head * dHead + Math.floor(within * dHead) };
}

export function numberRect(view, boxes, { name, row, column }) {
  // Where a number is drawn now; null where it is not.
  const { home, columns, quantities, query, header } = view;
  const [of, quantity] = [home.get(name), quantities.get(name)];
  const part = of && quantity && partOf(of, name);
  if (!part || (quantity.rows === "query" && row !== query)) return null;
  const box = boxes[columns.indexOf(of)];
  if (part === "rows" && of.kind !== "strip") return rectOf(view, "rows", box, column);
  const rect = rectOf(view, part, box, row);
  if (part !== "full") return { ...rect, x: rect.x + (rect.w * column) / quantity.width, w: rect.w / quantity.width };
  if (quantity.columns !== "head d_head") {
    return { ...rect, y: rect.y + (rect.h * column) / quantity.width, h: rect.h / quantity.width };
  }
  const slot = slotOf(rect, Math.floor(column / header.dHead), header.nHeads);
  return { ...slot, y: slot.y + (slot.h * (column % header.dHead)) / header.dHead, h: slot.h / header.dHead };
}
